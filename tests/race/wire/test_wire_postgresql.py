"""Byte strings as clients and servers send them, cut at every position: the same requests and answers come out."""

import struct

import pytest

from iobound.race.wire import Cancel, Goodbye, Refused, Request, Startup, Stream
from iobound.race.wire.postgresql import Conversation


def message(kind, body=b""):
    return kind + struct.pack(">i", len(body) + 4) + body


STARTUP = b"user\0me\0database\0shop\0application_name\0test\0\0"
START = struct.pack(">ii", len(STARTUP) + 8, 196608) + STARTUP
QUERY = message(b"Q", b"SELECT 1 FROM t\0")
PARSE = message(b"P", b"s1\0SELECT v FROM t WHERE id = $1\0\0\0")
DESCRIBE = message(b"D", b"Ss1\0")
SYNC = message(b"S")
BIND = message(b"B", b"\0s1\0" + struct.pack(">hhi", 0, 1, 1) + b"7" + struct.pack(">h", 0))
BIND_BINARY = message(b"B", b"\0s1\0" + struct.pack(">hhhii", 1, 1, 1, 4, 7) + struct.pack(">hh", 1, 1))
EXECUTE = message(b"E", b"\0\0\0\0\0")

READY = message(b"Z", b"I")
INSIDE = message(b"Z", b"T")
COLUMN = struct.pack(">h", 1) + b"v\0" + struct.pack(">ihihih", 0, 0, 23, 4, -1, 0)
ROW = message(b"D", struct.pack(">hi", 1, 2) + b"42")
DONE = message(b"C", b"SELECT 1\0")


def cut(data, at):
    return [data[:at], data[at:]]


def started():
    conversation = Conversation()
    conversation.from_client(START)
    return conversation


def every_cut(data):
    return [cut(data, at) for at in range(len(data) + 1)]


@pytest.mark.parametrize("parts", every_cut(START + QUERY))
def test_startup_and_query(parts):
    conversation = Conversation()
    events = [event for part in parts for event in conversation.from_client(part)]
    assert events[0] == Startup("me", "shop", (("application_name", "test"),))
    assert (events[1].data, events[1].sql) == (QUERY, "SELECT 1 FROM t")
    assert len(events) == 2


@pytest.mark.parametrize("parts", every_cut(PARSE + DESCRIBE + SYNC + BIND + EXECUTE + SYNC))
def test_a_prepared_statement_is_one_request_without_and_one_with_a_step(parts):
    conversation = started()
    prepared, executed = [event for part in parts for event in conversation.from_client(part)]
    assert (prepared.sql, prepared.data) == (None, PARSE + DESCRIBE + SYNC)
    assert (executed.sql, executed.parameters) == ("SELECT v FROM t WHERE id = $1", ["7"])
    assert executed.data == BIND + EXECUTE + SYNC


def test_executes_of_a_pipeline_are_single_requests():
    conversation = started()
    first, second = conversation.from_client(PARSE + BIND + EXECUTE + BIND + EXECUTE + SYNC)
    assert first.data == PARSE + BIND + EXECUTE + message(b"H")
    assert second.data == BIND + EXECUTE + SYNC
    conversation.sent(first)
    conversation.from_server(message(b"1") + message(b"2") + DONE)
    assert first.done


@pytest.mark.parametrize("parts", every_cut(message(b"T", COLUMN) + ROW + DONE + INSIDE))
def test_the_answer_to_a_query(parts):
    conversation = started()
    [request] = conversation.from_client(QUERY)
    conversation.sent(request)
    found = [each for part in parts for each in conversation.from_server(part)]
    assert b"".join(data for data, _ in found) == b"".join(parts)
    assert all(whose is request for _, whose in found)
    assert request.done
    assert (request.answer.columns, request.answer.rows) == (["v"], [["42"]])
    assert conversation.in_transaction


def test_binary_values_are_read_by_their_type():
    conversation = started()
    prepared, executed = conversation.from_client(PARSE + DESCRIBE + SYNC + BIND_BINARY + EXECUTE + SYNC)
    conversation.sent(prepared)
    types = message(b"t", struct.pack(">hi", 1, 23))
    conversation.from_server(message(b"1") + types + message(b"T", COLUMN) + READY)
    assert prepared.done
    conversation.sent(executed)
    conversation.from_server(message(b"2") + message(b"D", struct.pack(">hii", 1, 4, 42)) + DONE + READY)
    assert executed.parameters == ["7"]
    assert executed.answer.rows == [["42"]]


def test_an_error_ends_all_up_to_the_sync():
    conversation = started()
    first, second = conversation.from_client(PARSE + BIND + EXECUTE + BIND + EXECUTE + SYNC)
    conversation.sent(first)
    conversation.from_server(message(b"E", b"SERROR\0C40001\0Mcould not serialize\0\0"))
    assert first.done
    assert first.answer.error == ("40001", "could not serialize")
    conversation.sent(second)
    assert not second.done
    conversation.from_server(READY)
    assert second.done


def test_an_error_of_a_query_is_followed_by_ready():
    conversation = started()
    [request] = conversation.from_client(QUERY)
    conversation.sent(request)
    conversation.from_server(message(b"E", b"C23505\0Mduplicate\0\0"))
    assert not request.done
    conversation.from_server(message(b"Z", b"E"))
    assert request.done
    assert conversation.failed


def test_copied_data_passes_through():
    conversation = started()
    [request] = conversation.from_client(message(b"Q", b"COPY t FROM STDIN\0"))
    conversation.sent(request)
    conversation.from_server(message(b"G", b"\0\0\0"))
    assert request.streams
    assert conversation.from_client(message(b"d", b"1\n") + message(b"c")) == [
        Stream(message(b"d", b"1\n")),
        Stream(message(b"c")),
    ]


def test_notices_between_requests_belong_to_nobody():
    assert started().from_server(message(b"N", b"SNOTICE\0\0")) == [(message(b"N", b"SNOTICE\0\0"), None)]


def test_tls_and_cancelling_and_the_end():
    conversation = Conversation()
    assert conversation.from_client(struct.pack(">ii", 8, 80877103)) == [Refused(b"N")]
    assert conversation.from_client(struct.pack(">iiii", 16, 80877102, 123, 456)) == [Cancel(123)]
    assert started().from_client(message(b"X")) == [Goodbye()]


def test_statements_are_rewritten_on_their_way():
    conversation = started()
    [plain] = conversation.from_client(QUERY, lambda sql: sql + " FOR UPDATE")
    assert plain.data == message(b"Q", b"SELECT 1 FROM t FOR UPDATE\0")
    [prepared] = conversation.from_client(PARSE + SYNC, lambda sql: sql.replace("v", "w"))
    assert isinstance(prepared, Request)
    assert prepared.data == message(b"P", b"s1\0SELECT w FROM t WHERE id = $1\0\0\0") + SYNC
