"""What a link does to bytes, without sockets and without a clock: when each chunk arrives at the other side."""

from __future__ import annotations

import enum
import random
from collections import deque

import msgspec

LINE_BYTES = 32 << 20  # what one direction of a connection may hold: 25 ms of 1.3 GB/s
FAIR_BYTES = 256 << 10  # what it may always hold, however much the others do
ALL_BYTES = 256 << 20


class Link(msgspec.Struct, frozen=True):
    """One way of a link: its delay, by how much that varies up and down (evenly), and bytes a second (``None``: no limit).

    The limit is for all connections together, as on a wire.
    """

    delay_ns: int = 0
    jitter_ns: int = 0
    bytes_per_s: float | None = None


class End(enum.Enum):
    """How a stream ends: `FIN` after all its bytes, `RESET` without regard to them."""

    FIN = "fin"
    RESET = "reset"


class Wire:
    """One way of a link, which all connections share: says when what is sent now arrives."""

    def __init__(self, link: Link, seed: int = 0) -> None:
        self._link = link
        self._draw = random.Random(seed)
        self._free_at = 0.0

    def arrival(self, now: int, size: int, opens_at: int = 0) -> int:
        """Return when the last of `size` bytes that are given to it at `now` arrives, in the nanoseconds of the same clock.

        They are sent at `opens_at` where that is later.
        """
        link, sent = self._link, now
        if link.bytes_per_s:
            self._free_at = max(now, self._free_at) + size * 1e9 / link.bytes_per_s
            sent = round(self._free_at)
        jitter = self._draw.randint(-link.jitter_ns, link.jitter_ns) if link.jitter_ns else 0
        return max(sent, opens_at) + link.delay_ns + jitter


class DelayLine:
    """One direction of a connection: what is put in is due later, in the same order.

    What is put in before `opens_at` counts as sent then: a connection carries nothing until its handshake is over.
    """

    __slots__ = ("_opens_at", "_queue", "_wire", "held")

    def __init__(self, wire: Wire, opens_at: int) -> None:
        self._wire = wire
        self._opens_at = opens_at
        self._queue: deque[tuple[int, bytes | End]] = deque()
        self.held = 0

    def put(self, what: bytes | End, now: int) -> None:
        """Take in a chunk, or the end of the stream."""
        size = len(what) if isinstance(what, bytes) else 0
        due = self._wire.arrival(now, size, self._opens_at)
        if self._queue:
            due = max(due, self._queue[-1][0])  # nothing overtakes
        self._queue.append((due, what))
        self.held += size

    @property
    def due(self) -> int | None:
        """When the first of what it holds is due; ``None`` where it holds nothing."""
        return self._queue[0][0] if self._queue else None

    @property
    def first(self) -> bytes | End:
        """The first of what it holds."""
        return self._queue[0][1]

    def sent(self, size: int) -> None:
        """Drop what was sent of the first: all of it, or its first `size` bytes."""
        due, what = self._queue.popleft()
        if isinstance(what, bytes):
            self.held -= size
            if size < len(what):
                self._queue.appendleft((due, what[size:]))

    def clear(self) -> int:
        """Drop everything; return how many bytes that were."""
        held, self.held = self.held, 0
        self._queue.clear()
        return held
