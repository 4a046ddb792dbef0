"""Byte strings as clients and servers send them, cut at every position: the same requests and answers come out."""

import struct

import pytest

from iobound.race.wire import Goodbye, Startup
from iobound.race.wire.mysql import OFFERED, Conversation


def packet(number, body):
    return struct.pack("<I", len(body))[:3] + bytes([number]) + body


def text(value):
    return b"\xfb" if value is None else bytes([len(value)]) + value


def definition(name):
    return b"\x03def" + text(b"db") + text(b"t") + text(b"t") + text(name) + text(name) + b"\x0c" + bytes(12)


LOGIN = struct.pack("<IIB", OFFERED, 1 << 24, 45) + bytes(23) + b"me\0" + b"\x03abc" + b"shop\0" + b"mysql_native_password\0"
SELECT = packet(0, b"\x03SELECT v FROM t")
EOF = b"\xfe\0\0"
OK = b"\0\x01\0\x03\0\0\0"  # one row, in a transaction with autocommit
RESULT = (
    packet(1, b"\x02")
    + packet(2, definition(b"id"))
    + packet(3, definition(b"v"))
    + packet(4, EOF + b"\x01\0")
    + packet(5, text(b"1") + text(None))
    + packet(6, EOF + b"\x01\0")
)


def started():
    conversation = Conversation("10.11")
    conversation.from_client(packet(1, LOGIN))
    return conversation


def every_cut(data):
    return [[data[:at], data[at:]] for at in range(len(data) + 1)]


def test_the_greeting_offers_neither_tls_nor_compression():
    greeting = Conversation("10.11.6-MariaDB").hello(5)
    assert greeting[4:5] == b"\x0a"
    assert not OFFERED & (0x800 | 0x20)


@pytest.mark.parametrize("parts", every_cut(packet(1, LOGIN) + SELECT))
def test_login_and_query(parts):
    conversation = Conversation("10.11")
    startup, request = [event for part in parts for event in conversation.from_client(part)]
    assert startup == Startup("me", "shop", (("charset", "45"), ("flags", str(0x2 | 0x100 | 0x10000))))
    assert (request.sql, request.data) == ("SELECT v FROM t", SELECT)


@pytest.mark.parametrize("parts", every_cut(RESULT))
def test_a_result_set(parts):
    conversation = started()
    [request] = conversation.from_client(SELECT)
    conversation.sent(request)
    found = [each for part in parts for each in conversation.from_server(part)]
    assert b"".join(data for data, _ in found) == RESULT
    assert request.done
    assert (request.answer.columns, request.answer.rows) == (["id", "v"], [["1", None]])
    assert conversation.in_transaction


def test_rows_changed_and_errors():
    conversation = started()
    [request] = conversation.from_client(packet(0, b"\x03UPDATE t SET v = 1"))
    conversation.sent(request)
    conversation.from_server(packet(1, OK))
    assert (request.done, request.answer.affected, conversation.in_transaction) == (True, 1, True)
    [request] = conversation.from_client(SELECT)
    conversation.sent(request)
    conversation.from_server(packet(1, b"\xff\xbd\x04#40001Deadlock found"))
    assert request.answer.error == ("1213", "Deadlock found")


def test_several_results_are_one_answer():
    conversation = started()
    [request] = conversation.from_client(packet(0, b"\x03UPDATE t SET v = 1; SELECT v FROM t"))
    conversation.sent(request)
    conversation.from_server(packet(1, b"\0\x01\0\x0b\0\0\0"))
    assert not request.done
    conversation.from_server(RESULT)
    assert request.done


def test_a_prepared_statement_is_known_when_it_is_executed():
    conversation = started()
    [prepare] = conversation.from_client(packet(0, b"\x16SELECT v FROM t WHERE id = ?"))
    assert prepare.sql is None
    conversation.sent(prepare)
    conversation.from_server(packet(1, b"\0" + struct.pack("<IHHBH", 9, 1, 1, 0, 0)))
    conversation.from_server(packet(2, definition(b"?")) + packet(3, EOF + b"\0\0"))
    assert not prepare.done
    conversation.from_server(packet(4, definition(b"v")) + packet(5, EOF + b"\0\0"))
    assert prepare.done
    [execute] = conversation.from_client(packet(0, b"\x17" + struct.pack("<IBI", 9, 0, 1)))
    assert execute.sql == "SELECT v FROM t WHERE id = ?"


def test_what_is_not_answered_and_the_end():
    conversation = started()
    [close] = conversation.from_client(packet(0, b"\x19\x09\0\0\0"))
    conversation.sent(close)
    assert close.done
    assert not conversation.waiting
    assert conversation.from_client(packet(0, b"\x01")) == [Goodbye()]


def test_statements_are_rewritten_on_their_way():
    [request] = started().from_client(SELECT, lambda sql: sql + " FOR UPDATE")
    assert request.data == packet(0, b"\x03SELECT v FROM t FOR UPDATE")
    assert request.sql == "SELECT v FROM t FOR UPDATE"
