"""What verification says of a server that answers wrongly, late or not at all."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from iobound.errors import BadAnswer
from iobound.load.spec import Exchange
from iobound.measure.verify import verify


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        answers = {"/right": (200, b"right"), "/error": (500, b"Traceback: no table"), "/none": (204, b"")}
        if self.path == "/silent":
            time.sleep(2)
        if self.path == "/cut":
            self.send_response(200)
            self.send_header("Content-Length", "100")
            self.end_headers()
            self.wfile.write(b"short")
            self.close_connection = True
            return
        status, body = answers.get(self.path, (200, b""))
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(201)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body.replace(b"\xc3\xa9", self.headers["X-Mark"].encode() * 2))

    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def post(body: bytes) -> Exchange:
    return Exchange(method="POST", path="/make", headers={"X-Mark": "1"}, body=body, status=201, answer=body)


def test_right_answers_say_nothing(url):
    right = Exchange(path="/right", status=200, answer=b"right")
    verify(url, [right, post(b"a"), post(b"b"), right, Exchange(path="/right"), Exchange(path="/none")])


def test_a_wrong_status_is_told_with_what_was_answered(url):
    with pytest.raises(BadAnswer, match="GET /error answered 500 instead of 200: Traceback: no table"):
        verify(url, [Exchange(path="/error", status=200)])


def test_any_status_is_no_failure(url):
    with pytest.raises(BadAnswer, match="answered 500 instead of a success"):
        verify(url, [Exchange(path="/error")])


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        (b"rught", "answered 5 bytes instead of 5, the first wrong one at 1: b'right' instead of b'rught'"),
        (b"right!", "answered 5 bytes instead of 6, the first wrong one at 5: b'right' instead of b'right!'"),
        (b"righ", "answered 5 bytes instead of 4, the first wrong one at 4: b'right' instead of b'righ'"),
    ],
)
def test_the_first_difference_is_shown(url, expected, message):
    with pytest.raises(BadAnswer) as caught:
        verify(url, [Exchange(path="/right", answer=expected)])
    assert message in str(caught.value)


def test_only_what_is_around_the_difference_is_shown(url):
    with pytest.raises(BadAnswer) as caught:
        verify(url, [post(b"x" * 5000 + "é".encode() + b"y" * 5000)])
    assert "the first wrong one at 5000" in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_body_cut_short_is_no_answer(url):
    with pytest.raises(BadAnswer, match=r"GET /cut wasn't answered: IncompleteRead"):
        verify(url, [Exchange(path="/cut")])


def test_silence_is_given_up(url):
    with pytest.raises(BadAnswer, match=r"GET /silent wasn't answered within 0\.2 s"):
        verify(url, [Exchange(path="/silent")], timeout_s=0.2)


def test_nobody_there():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(BadAnswer, match="wasn't answered: ConnectionRefusedError"):
        verify(f"http://127.0.0.1:{port}", [Exchange(path="/right")])
