"""The closed and the open loop: when requests are sent.

Latency of the closed loop counts from when a connection was ready to send (so it includes the connect where one was needed),
that of the open loop from when the request was due, whether or not a connection was free then.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from functools import partial

from iobound.load.framing import NOTHING
from iobound.load.generator import Generator, Slot
from iobound.load.schedule import due_times
from iobound.load.spec import LoadSpec
from iobound.load.transport import Transport


class ClosedLoop(Generator):
    """Every connection sends its next request when the last was answered and the think time is over."""

    def __init__(self, spec: LoadSpec, transport: Transport, *, part: int = 0, parts: int = 1) -> None:
        super().__init__(spec, transport, part=part, parts=parts)
        self._think = round(spec.think_s * 1e9)

    def _start(self, now: int) -> None:
        for slot in self._slots:
            self._ready(slot, self._clock())

    def _answered(self, slot: Slot, now: int) -> None:
        if not self._think and not self._stopped:
            self._begin(slot, now, now)
            return
        slot.request = None
        slot.expects = NOTHING
        if self._stopped:
            self._left_open()
        else:
            self._at(now + self._think, partial(self._ready, slot))

    def _ready(self, slot: Slot, now: int) -> None:
        self._begin(slot, now, now)


class OpenLoop(Generator):
    """Requests are sent when they are due; those that find no free connection wait for one, and their latency tells."""

    def __init__(self, spec: LoadSpec, transport: Transport, *, part: int = 0, parts: int = 1) -> None:
        super().__init__(spec, transport, part=part, parts=parts)
        self._idle: deque[Slot] = deque()
        self._waiting = False
        self._due_times: Iterator[int] = iter(())
        self._due = sys.maxsize

    def _start(self, now: int) -> None:
        spec = self.spec
        assert spec.rate
        start = self._start_ns
        self._due_times = due_times(spec.rate, spec.arrivals, start, spec.seed, self._part, self._parts)
        self._due = next(self._due_times)
        for slot in self._slots:
            self._ready(slot, now)

    def _answered(self, slot: Slot, now: int) -> None:
        slot.request = None
        slot.expects = NOTHING
        if self._stopped:
            self._left_open()
        else:
            self._ready(slot, now)

    def _ready(self, slot: Slot, now: int) -> None:
        if self._due <= now:
            self._send_next(slot, now)
            return
        self._idle.append(slot)
        self._await_due()

    def _await_due(self) -> None:
        if self._idle and not self._waiting:
            self._waiting = True
            self._at(self._due, self._send_due)

    def _send_due(self, now: int) -> None:
        self._waiting = False
        while self._idle and self._due <= now:
            now = self._clock()
            self._send_next(self._idle.popleft(), now)
        self._await_due()

    def _send_next(self, slot: Slot, now: int) -> None:
        due = self._due
        self._due = next(self._due_times)
        self.record.lateness.append(now - due)
        self._begin(slot, due, now)

    def _never_sent(self, until: int) -> Iterator[int]:
        while self._due < until:
            yield self._due
            self._due = next(self._due_times)
