"""A network and a server made of nothing but a clock: what happens is exactly what the script says."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count

from iobound.load.transport import READABLE, WRITABLE, Event

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

MS = 1_000_000
S = 1_000 * MS


class ScriptedLink:
    """One connection: bytes and failures that have arrived, in order."""

    def __init__(self, network: ScriptedNetwork, fd: int) -> None:
        self.fd = fd
        self.network = network
        self.arrived: list[bytes | OSError] = []
        self.closed = False
        self.refusal: OSError | None = None

    def recv(self, size: int) -> bytes:
        if not self.arrived:
            raise BlockingIOError
        first = self.arrived.pop(0)
        if isinstance(first, OSError):
            raise first
        if first == b"":
            self.arrived.insert(0, first)
        return first

    def send(self, data: bytes) -> int:
        return self.network.sent(self, data)

    def finish(self) -> bool:
        if self.refusal:
            raise self.refusal
        return True

    def want_write(self, wanted: bool) -> None:
        if wanted:
            self.network.at(self.network.now, self.fd, WRITABLE, None)

    def close(self) -> None:
        self.closed = True


class ScriptedNetwork:
    """A transport whose time passes only in `poll`. `serve(network, link, number)` is called for each request that is sent."""

    alarm = -1
    control = -2

    def __init__(self, serve: Callable[[ScriptedNetwork, ScriptedLink, int], None], connect_ns: int = 0) -> None:
        self.now = 1_000 * S
        self.connect_ns = connect_ns
        self.serve = serve
        self.sent_at: list[int] = []
        self.requests: list[bytes] = []
        self.connects = 0
        self.room = 1 << 30
        self.refuse = False
        self._alarm_at: int | None = None
        self._coming: list[tuple[int, int, int, int, bytes | OSError | None]] = []
        self._links: dict[int, ScriptedLink] = {}
        self._order = count()

    def clock(self) -> int:
        return self.now

    def wake_at(self, when_ns: int) -> None:
        self._alarm_at = when_ns

    def at(self, when: int, fd: int, event: int, what: bytes | OSError | None) -> None:
        heapq.heappush(self._coming, (when, next(self._order), fd, event, what))

    def answer(self, link: ScriptedLink, when: int, data: bytes | OSError = ANSWER) -> None:
        """Let `data` arrive on `link` at `when`; b"" is the end of the connection."""
        self.at(when, link.fd, READABLE, data)

    def connect(self) -> ScriptedLink:
        self.connects += 1
        link = ScriptedLink(self, 10 + self.connects)
        if self.refuse:
            link.refusal = ConnectionRefusedError()
        self._links[link.fd] = link
        self.at(self.now + self.connect_ns, link.fd, WRITABLE, None)
        return link

    def sent(self, link: ScriptedLink, data: bytes) -> int:
        size = min(len(data), self.room)
        self.requests.append(data[:size])
        if size == len(data):
            self.sent_at.append(self.now)
            self.serve(self, link, len(self.sent_at) - 1)
        return size

    def poll(self) -> list[Event]:
        while True:
            when = self._coming[0][0] if self._coming else None
            if self._alarm_at is not None and (when is None or self._alarm_at <= when):
                self.now = max(self.now, self._alarm_at)
                self._alarm_at = None
                return [(self.alarm, READABLE)]
            assert when is not None, "nothing will ever happen again"
            when, _, fd, event, what = heapq.heappop(self._coming)
            self.now = max(self.now, when)
            link = self._links.get(fd)
            if fd == self.control:
                return [(fd, READABLE)]
            if link is None or link.closed:
                continue
            if what is not None:
                link.arrived.append(what)
            return [(fd, event)]
