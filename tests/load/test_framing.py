"""Responses are read the same however they are cut, and what comes after them is noticed."""

from __future__ import annotations

import pytest

from iobound.load.framing import Malformed, Reader, Request, prepare
from iobound.load.spec import Exchange, LoadSpec

GET = Request(b"", "GET", None, b"Hello")

COMPLETE = [
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHello",
    b"HTTP/1.1 200 OK\r\ncontent-length:5\r\nX: \r\n\r\nHello",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nX: y\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHello",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nHel\r\n2;x=y\r\nlo\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nHello\r\n0\r\nTrailer: x\r\n\r\n",
]


@pytest.mark.parametrize("response", COMPLETE)
def test_a_response_may_be_cut_anywhere(response: bytes) -> None:
    for cut in range(1, len(response)):
        reader = Reader(GET)
        assert not reader.feed(response[:cut])
        assert not reader.end()
        assert reader.feed(response[cut:])
        assert (reader.status, reader.right, reader.keep_alive) == (200, True, True)
    reader = Reader(GET)
    assert [reader.feed(response[i : i + 1]) for i in range(len(response))] == [False] * (len(response) - 1) + [True]


@pytest.mark.parametrize("response", COMPLETE)
def test_bytes_after_a_response_are_noticed(response: bytes) -> None:
    for surplus in (b"x", b"HTTP/1.1 200 OK\r\n\r\n"):
        with pytest.raises(Malformed):
            Reader(GET).feed(response + surplus)


def test_without_a_length_the_end_of_the_connection_is_the_end() -> None:
    reader = Reader(GET)
    assert not reader.feed(b"HTTP/1.1 200 OK\r\n\r\nHel")
    assert not reader.feed(b"lo")
    assert reader.end()
    assert (reader.right, reader.keep_alive) == (True, False)


@pytest.mark.parametrize(
    ("method", "response"),
    [
        ("HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"),
        ("HEAD", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
        ("GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"),
        ("GET", b"HTTP/1.1 204 No Content\r\n\r\n"),
    ],
)
def test_some_responses_have_no_body(method: str, response: bytes) -> None:
    assert Reader(Request(b"", method, None, None)).feed(response)


@pytest.mark.parametrize("body", [b"Hullo", b"Hell", b"Hello!", b""])
def test_another_body_isnt_right(body: bytes) -> None:
    reader = Reader(GET)
    assert reader.feed(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    assert not reader.right


def test_an_endless_head_is_given_up() -> None:
    reader = Reader(GET)
    reader.feed(b"HTTP/1.1 200 OK\r\n")
    with pytest.raises(Malformed):
        for _ in range(30):
            reader.feed(b"X: %b\r\n" % (b"y" * 60_000))


def test_a_request_is_written_as_given() -> None:
    spec = LoadSpec(url="http://[::1]:8080/ignored", exchanges=[], keep_alive=False)
    exchange = Exchange(method="PATCH", path="/a?b", headers={"X-A": "b"}, body=b"cd")
    assert prepare(exchange, spec).data == (
        b"PATCH /a?b HTTP/1.1\r\nHost: [::1]:8080\r\nContent-Length: 2\r\nConnection: close\r\nX-A: b\r\n\r\ncd"
    )
    assert b"\r\nHost: other\r\n" in prepare(Exchange(headers={"Host": "other"}), spec).data
    assert prepare(Exchange(headers={"Host": "other"}), spec).data.count(b"Host") == 1
