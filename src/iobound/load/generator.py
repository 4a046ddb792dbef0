"""What becomes of requests, whenever they are sent: connections, responses, failures, and the phases of a block.

Clock and transport are given. When requests are sent is decided in `loops`.
"""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count, cycle, islice

import numpy as np

from iobound.load.framing import NOTHING, READ_SIZE, Malformed, Reader, Request, prepare
from iobound.load.histogram import Histogram
from iobound.load.recorder import BULK, STEP_NS, Recorder
from iobound.load.spec import LoadSpec
from iobound.load.transport import READABLE, WRITABLE, Link, Transport, kind_of

JOINED = 65_536  # a known response up to this size that comes in pieces is joined; a larger one is parsed
FIRST_RETRY_NS = 1_000_000
LAST_RETRY_NS = 100_000_000
OPENING_NS = 3_000_000_000
DRAIN_NS = 2_000_000_000


class Slot:
    """A place for one connection and at most one request in flight.

    `expects` is the open request while the next read may be its whole response, else `NOTHING`. `pending` are bytes of a
    response that isn't parsed yet, `unsent` those of a request that didn't fit, `failures` those since the last success.
    """

    __slots__ = (
        "begun",
        "due",
        "expects",
        "failures",
        "link",
        "open",
        "pending",
        "reader",
        "recv",
        "request",
        "send",
        "unsent",
    )

    link: Link | None
    recv: Callable[[int], bytes]
    send: Callable[[bytes], int]

    def __init__(self) -> None:
        self.link = None
        self.open = False
        self.failures = 0
        self.due = self.begun = 0
        self.request: Request | None = None
        self.clear()

    def clear(self) -> None:
        """Forget the open request's progress."""
        self.expects = NOTHING
        self.reader: Reader | None = None
        self.pending = b""
        self.unsent = b""


class Generator(ABC):
    """What both loops share. Use: `open`, then `run`; the results are `record` and the public attributes.

    Times are nanoseconds of the transport's clock. `started` stays 0 when it was stopped before recording began, `overdue`
    counts requests that were due and never sent, `abandoned` those left open in the end, `waited` is how long the unanswered
    and the overdue had waited when the block ended, `in_flight_ns` the time that requests spent in flight. `on_edge` is called
    as recording begins and as it ends.
    """

    def __init__(self, spec: LoadSpec, transport: Transport, *, part: int = 0, parts: int = 1) -> None:
        self.spec = spec
        self.record = Recorder()
        self.started = 0
        self.ended = 0
        self.unanswered = 0
        self.overdue = 0
        self.abandoned = 0
        self.waited = Histogram()
        self.in_flight_ns = 0
        self.on_edge: Callable[[], object] = lambda: None
        self._part, self._parts = part, parts
        self._transport = transport
        self._clock = transport.clock
        self._requests = [prepare(exchange, spec) for exchange in spec.exchanges]
        first = part * len(self._requests) // parts
        self._next_request = cycle(self._requests[first:] + self._requests[:first]).__next__
        self._slots = [Slot() for _ in range(spec.connections)]
        self._by_fd: dict[int, Slot | None] = {transport.alarm: None, transport.control: None}
        self._timeout = round(spec.timeout_s * 1e9)
        self._timers: list[tuple[int, int, Callable[[int], None]]] = []
        self._order = count()
        self._alarm = 0
        self._start_ns = self._until = 0
        self._ticks = 0
        self._opening = 0
        self._looping = False
        self._stopped = False

    @property
    def requests(self) -> int:
        """Requests of the block: each one succeeded, failed or is unanswered. Those in flight at its start count."""
        return self.record.responses + self.record.errors.total() + self.unanswered

    # --- phases -----------------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Open the connections (unless each request opens its own), for a few seconds at most. Failures don't count yet."""
        if not self.spec.keep_alive:
            return
        now = self._clock()
        self._opening = len(self._slots)
        for slot in self._slots:
            self._connect(slot, now)
        if self._opening:
            self._at(now + min(self._timeout, OPENING_NS), self._leave)
            self._loop()
            self._timers.clear()
        self._opening = 0

    def run(self, start_ns: int) -> None:
        """Offer the load from `start_ns` on, warm-up first, and return after the block (or when told to stop)."""
        self._start_ns = start_ns
        begin = start_ns + round(self.spec.warmup_s * 1e9)
        self._at(begin, self._start_recording)
        self._until = begin + round(self.spec.duration_s * 1e9)
        self._at(self._until, self._end)
        self._at(start_ns, self._start)
        self._at(start_ns, self._sweep)
        self._loop()
        if not self.ended:
            self._end(self._clock())
        self._drain()

    def _start_recording(self, now: int) -> None:
        self._settle()
        self.record = Recorder()
        self.record.connects = sum(slot.open for slot in self._slots)
        self.in_flight_ns = -sum(now - slot.due for slot in self._slots if slot.request)
        self.started = now
        self.on_edge()
        self._ticks = 0
        self._at(now + STEP_NS, self._tick)

    def _end(self, now: int) -> None:
        if self.started:
            self.on_edge()
        self.ended = now
        self._settle()
        record = self.record
        record.flush()
        open_requests = [slot for slot in self._slots if slot.request]
        self.unanswered = len(open_requests)
        self.in_flight_ns += (
            record.latency_ns + record.failed_ns - record.late_ns + sum(now - slot.due for slot in open_requests)
        )
        self.waited.add(np.array([now - slot.due for slot in open_requests], dtype=np.int64))
        until = min(now, self._until)
        dues = self._never_sent(until)
        while late := list(islice(dues, BULK)):
            self.overdue += len(late)
            self.waited.add(until - np.array(late, dtype=np.int64))
        self._stopped = True
        self._leave(now)

    def _drain(self) -> None:
        """Wait for the answers to open requests, so that the server isn't left at work for nobody; close everything.

        That work is part of what the block costs, and would be in the way of whatever is measured next.
        """
        kept = self.record
        self.record = Recorder()
        self._timers.clear()
        self._alarm = 0
        self._at(self._clock() + min(self._timeout, DRAIN_NS), self._leave)
        if any(slot.request for slot in self._slots):
            self._loop()
        self.abandoned = sum(bool(slot.request) for slot in self._slots)
        for slot in self._slots:
            self._close(slot)
        self.record = kept

    def _settle(self) -> None:
        for request in self._requests:
            self.record.settle(request.known)

    # --- the loop ---------------------------------------------------------------------------------------------------

    def _leave(self, now: int) -> None:
        self._looping = False

    def _loop(self) -> None:
        """Handle events until told to leave. The first branch is the hot path: one read, one known response, one send."""
        poll, clock, by_fd = self._transport.poll, self._clock, self._by_fd
        alarm = self._transport.alarm
        self._looping = True
        while self._looping:
            record = self.record
            latencies = record.latencies
            add = latencies.append
            rung = False
            for fd, events in poll():
                slot = by_fd[fd]
                if slot is None:
                    if fd == alarm:
                        rung = True
                    else:
                        self._looping = False
                elif events == READABLE and slot.open:
                    expects = slot.expects
                    try:
                        data = slot.recv(expects.room)
                    except BlockingIOError:
                        continue
                    except OSError as error:
                        self._lost(slot, kind_of(error), clock())
                        continue
                    now = clock()
                    known = expects.known
                    if len(data) == known.length and data.startswith(known.start):
                        add(now - slot.due)
                        known.hits += 1
                        self._answered(slot, now)
                    else:
                        self._received(slot, data, now)
                else:
                    self._unusual(slot, events)
            if len(latencies) >= BULK or len(record.lateness) >= BULK:
                record.flush()
            if rung:
                self._ring()

    def _at(self, when: int, call: Callable[[int], None]) -> None:
        heapq.heappush(self._timers, (when, next(self._order), call))
        if not self._alarm or when < self._alarm:
            self._alarm = when
            self._transport.wake_at(when)

    def _ring(self) -> None:
        self._alarm = 1  # calls may add timers; the alarm is set once, below
        now = self._clock()
        while self._looping and self._timers and self._timers[0][0] <= now:
            heapq.heappop(self._timers)[2](now)
        self._alarm = self._timers[0][0] if self._timers else 0
        if self._alarm:
            self._transport.wake_at(self._alarm)

    def _tick(self, now: int) -> None:
        self.record.tick()
        self._ticks += 1
        self._at(self.started + (self._ticks + 1) * STEP_NS, self._tick)

    def _sweep(self, now: int) -> None:
        """Fail what has waited too long."""
        for slot in self._slots:
            if slot.request and now - slot.begun >= self._timeout:
                self._lost(slot, "timeout", now)
        self._at(now + max(1_000_000, min(STEP_NS, self._timeout // 10)), self._sweep)

    # --- one connection ---------------------------------------------------------------------------------------------

    def _begin(self, slot: Slot, due: int, now: int) -> None:
        """Send the next request, on a new connection where there is none."""
        slot.request = request = self._next_request()
        slot.due = due
        slot.begun = now
        if not slot.open:
            if slot.link is None:
                self._connect(slot, now)
            return
        slot.expects = request
        try:
            self._send(slot, request.data)
        except OSError as error:
            self._lost(slot, kind_of(error), now)

    def _connect(self, slot: Slot, now: int) -> None:
        try:
            slot.link = link = self._transport.connect()
        except OSError as error:
            self._lost(slot, kind_of(error), now)
            return
        slot.recv, slot.send = link.recv, link.send
        self._by_fd[link.fd] = slot

    def _close(self, slot: Slot) -> None:
        if slot.link:
            del self._by_fd[slot.link.fd]
            slot.link.close()
            slot.link = None
        slot.open = False
        slot.clear()

    def _unusual(self, slot: Slot, events: int) -> None:
        """Handle an event of a link that is connecting, has room for the rest of a request, or is ending."""
        assert slot.link
        try:
            if not slot.open:
                if slot.link.finish():
                    self._opened(slot)
                return
            if slot.unsent and events & WRITABLE:
                self._send(slot, slot.unsent)
            data = slot.recv(READ_SIZE)
        except BlockingIOError:
            return
        except OSError as error:
            self._lost(slot, kind_of(error), self._clock())
            return
        self._received(slot, data, self._clock())

    def _opened(self, slot: Slot) -> None:
        slot.open = True
        self.record.connects += 1
        if slot.request:
            self._send(slot, slot.request.data)
        else:
            self._one_less_opening()

    def _one_less_opening(self) -> None:
        if self._opening:
            self._opening -= 1
            self._looping = self._opening > 0

    def _send(self, slot: Slot, data: bytes) -> None:
        """Send what fits and keep the rest until there is room."""
        try:
            sent = slot.send(data)
        except BlockingIOError:
            sent = 0
        if sent < len(data) or slot.unsent:
            assert slot.link
            slot.expects = NOTHING
            slot.unsent = data[sent:]
            slot.link.want_write(sent < len(data))

    # --- responses and failures -------------------------------------------------------------------------------------

    def _received(self, slot: Slot, data: bytes, now: int) -> None:
        """Handle bytes that aren't, at first sight, a known response in one piece."""
        request = slot.request
        if request is None:
            self._close(slot)
            if data:
                self.record.fail("protocol", 0)  # an answer that nobody asked for
            return
        if not data:
            self._closed_by_peer(slot, now)
            return
        self.record.bytes_received += len(data)
        slot.expects = NOTHING
        if slot.reader is None:
            known = request.known
            data = slot.pending + data
            if len(data) == known.length and data.startswith(known.start) and not slot.unsent:
                self.record.status[known.status] += 1
                self._succeeded(slot, now)
                return
            if len(data) < known.length <= JOINED and (data.startswith(known.head) or known.head.startswith(data)):
                slot.pending = data
                return
            slot.reader = Reader(request)
        try:
            complete = slot.reader.feed(data)
        except Malformed:
            self._lost(slot, "protocol", now)
            return
        if complete:
            self._complete(slot, slot.reader, now)

    def _closed_by_peer(self, slot: Slot, now: int) -> None:
        if slot.reader and slot.reader.end():
            self._complete(slot, slot.reader, now)
        else:
            self._lost(slot, "short-body" if slot.reader or slot.pending else "reset", now)

    def _complete(self, slot: Slot, reader: Reader, now: int) -> None:
        """Judge a response that was read to its end."""
        request = slot.request
        assert request
        self.record.status[reader.status] += 1
        if not (reader.keep_alive and self.spec.keep_alive) or slot.unsent:
            self._close(slot)
        if not request.accepts(reader.status):
            self._rejected(slot, "bad-status", now)
        elif not reader.right:
            self._rejected(slot, "wrong-body", now)
        else:
            self.record.settle(request.known)
            request.learn(reader)
            self._succeeded(slot, now)

    def _succeeded(self, slot: Slot, now: int) -> None:
        self.record.latencies.append(now - slot.due)
        slot.failures = 0
        slot.clear()
        self._answered(slot, now)

    def _rejected(self, slot: Slot, kind: str, now: int) -> None:
        """Count a complete response that is wrong; the connection is as good as before."""
        self.record.fail(kind, now - slot.due)
        slot.clear()
        self._answered(slot, now)

    def _lost(self, slot: Slot, kind: str, now: int) -> None:
        """Give up a connection, and its request with it; go on after a pause that grows with the failures in a row."""
        self._close(slot)
        if slot.request is None:
            self._one_less_opening()
            return
        slot.request = None
        self.record.fail(kind, now - slot.due)
        pause = min(LAST_RETRY_NS, FIRST_RETRY_NS << min(slot.failures, 10))
        slot.failures += 1
        if self._stopped:
            self._left_open()
        else:
            self._at(now + pause, partial(self._ready, slot))

    def _left_open(self) -> None:
        """Leave the drain after the last open request."""
        self._looping = any(slot.request for slot in self._slots)

    # --- what the loops decide --------------------------------------------------------------------------------------

    @abstractmethod
    def _start(self, now: int) -> None:
        """Begin to offer load."""

    @abstractmethod
    def _answered(self, slot: Slot, now: int) -> None:
        """Go on with a connection whose request was answered."""

    @abstractmethod
    def _ready(self, slot: Slot, now: int) -> None:
        """Go on with a connection that has nothing to do."""

    def _never_sent(self, until: int) -> Iterator[int]:
        """Yield when those requests were due that should have been sent before `until`."""
        return iter(())
