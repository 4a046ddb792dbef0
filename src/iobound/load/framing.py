"""Requests as bytes, and responses read to their exact end. No I/O.

`Reader` reads any response through httptools. Most responses of a server differ only in their bodies, though: `Known` keeps
the head of the last good one of a request, with the length that httptools found, so that the same head again needs no parsing.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from iobound.load.spec import Exchange, LoadSpec

LONGEST_HEAD = 1 << 20
READ_SIZE = 65_536

_END_OF_HEAD = b"\r\n\r\n"


class Malformed(Exception):
    """The peer doesn't speak HTTP/1.1, or said more than it announced."""


class Known:
    """How the last good response to a request looked: `start` (its head, and its body where that is given) and `length`.

    `hits` counts responses found equal since they were last settled.
    """

    __slots__ = ("head", "hits", "length", "start", "status")

    def __init__(self, head: bytes, answer: bytes, length: int, status: int) -> None:
        self.head = head
        self.start = head + answer
        self.length = length
        self.status = status
        self.hits = 0


UNKNOWN = Known(b"\0", b"", -1, 0)


class Request:
    """An exchange ready to be sent: its `data`, how a response to it looked last, and how much to read for the next one."""

    __slots__ = ("answer", "data", "known", "method", "room", "status")

    def __init__(self, data: bytes, method: str, status: int | None, answer: bytes | None) -> None:
        self.data = data
        self.method = method
        self.status = status
        self.answer = answer
        self.known = UNKNOWN
        self.room = READ_SIZE

    def accepts(self, status: int) -> bool:
        """Tell whether `status` is the expected one; where none is given, any 2xx or 3xx is."""
        return 200 <= status < 400 if self.status is None else status == self.status

    def learn(self, reader: Reader) -> None:
        """Keep the look of a good response that ends where its head says and leaves the connection open."""
        if reader.length is not None and reader.keep_alive and not reader.interim:
            answer = self.answer if self.answer is not None and self.method != "HEAD" else b""
            self.known = Known(reader.head, answer, len(reader.head) + reader.length, reader.status)
            # Python reads into a new object of the size asked for, and small ones are cheap. One more byte shows a surplus.
            self.room = min(READ_SIZE, self.known.length + 1)


NOTHING = Request(b"", "", None, None)
"""What a connection without an open request expects."""


def prepare(exchange: Exchange, spec: LoadSpec) -> Request:
    """Return the bytes of `exchange`: ``Host`` and ``Content-Length`` are ours unless its headers have them."""
    given = {name.lower() for name in exchange.headers}
    headers: dict[str, str] = {}
    if "host" not in given:
        headers["Host"] = urlsplit(spec.url).netloc.rpartition("@")[2]
    if "content-length" not in given and (exchange.body or exchange.method in {"POST", "PUT", "PATCH"}):
        headers["Content-Length"] = str(len(exchange.body))
    if not spec.keep_alive:
        headers["Connection"] = "close"
    headers |= exchange.headers
    lines = [f"{exchange.method} {exchange.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    data = "\r\n".join(lines).encode("latin-1") + exchange.body
    return Request(data, exchange.method, exchange.status, exchange.answer)


class Reader:
    """Reads one response to a request.

    `head` is the final head with its blank line, `length` the length of the body where the head tells it. `interim` says that
    1xx responses came before.
    """

    def __init__(self, request: Request) -> None:
        self.head = b""
        self.status = 0
        self.length: int | None = None
        self.keep_alive = False
        self.interim = False
        self._method = request.method
        self._answer = request.answer if request.method != "HEAD" else None
        self._same = True
        self._taken = 0
        self._events = _Events()
        self._parser = HttpResponseParser(self._events)

    @property
    def right(self) -> bool:
        """Whether a complete body is the expected one."""
        return self._answer is None or (self._same and self._taken == len(self._answer))

    def feed(self, data: bytes) -> bool:
        """Take bytes as they come and tell whether the response is complete.

        Raises `Malformed` for what isn't HTTP, and for bytes after the response.
        """
        while data and not self.status:
            data = self._take_head(data)
        if not self.status:
            return False
        if self._events.chunked and self.length is None:
            return self._take_chunks(data)
        self._take(data)
        if self.length is not None and self._taken > self.length:
            raise Malformed("bytes after the end of the response")
        return self._taken == self.length

    def end(self) -> bool:
        """Tell whether the end of the connection is the end of the response."""
        return bool(self.status) and self.length is None and not self._events.chunked

    def _take_head(self, data: bytes) -> bytes:
        """Take bytes up to the end of a head; return those after it."""
        searched = max(0, len(self.head) - len(_END_OF_HEAD) + 1)
        self.head += data
        end = self.head.find(_END_OF_HEAD, searched)
        if end < 0:
            if len(self.head) > LONGEST_HEAD:
                raise Malformed(f"a head of more than {LONGEST_HEAD} bytes")
            self._parse(data)
            return b""
        end += len(_END_OF_HEAD)
        self.head, rest = self.head[:end], self.head[end:]
        self._parse(data[: len(data) - len(rest)])
        events = self._events
        if not events.status:
            raise Malformed("a head without an end")
        if 100 <= events.status < 200:
            self.interim = True
            self.head = b""
            events.reset()
            return rest
        self.status = events.status
        self.keep_alive = events.keep_alive
        self.length = 0 if self._method == "HEAD" or self.status in {204, 304} else events.length
        return rest

    def _take_chunks(self, data: bytes) -> bool:
        events = self._events
        events.begun = False
        self._parse(data)
        for part in events.take():
            self._take(part)
        if events.begun:
            raise Malformed("bytes after the end of the response")
        return events.complete

    def _take(self, part: bytes) -> None:
        """Compare a part of the body with what is expected there."""
        if self._answer is not None and self._same:
            self._same = self._answer.startswith(part, self._taken)
        self._taken += len(part)

    def _parse(self, data: bytes) -> None:
        self._events.parser = self._parser
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            raise Malformed(str(error)) from None
        finally:
            self._events.parser = None  # else they would hold each other, and nothing collects cycles while measuring


class _Events:
    """What httptools tells of a response."""

    def __init__(self) -> None:
        self.parser: HttpResponseParser | None = None
        self.begun = False
        self.complete = False
        self.reset()

    def reset(self) -> None:
        self.status = 0
        self.keep_alive = False
        self.chunked = False
        self.length: int | None = None
        self.complete = False
        self._parts: list[bytes] = []

    def take(self) -> list[bytes]:
        parts, self._parts = self._parts, []
        return parts

    def on_message_begin(self) -> None:
        self.begun = True

    def on_header(self, name: bytes, value: bytes) -> None:
        match name.lower():
            case b"content-length":
                self.length = int(value)
            case b"transfer-encoding":
                self.chunked = value.lower().rpartition(b",")[2].strip() == b"chunked"

    def on_headers_complete(self) -> None:
        assert self.parser is not None
        self.status = self.parser.get_status_code()
        self.keep_alive = self.parser.should_keep_alive()

    def on_body(self, body: bytes) -> None:
        self._parts.append(body)

    def on_message_complete(self) -> None:
        self.complete = True
