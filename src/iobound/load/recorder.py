"""What a generator records of one block, in memory that doesn't grow with its duration."""

from __future__ import annotations

from array import array
from collections import Counter

import numpy as np

from iobound.load.framing import Known
from iobound.load.histogram import Histogram
from iobound.records import TimeSeries

STEP_NS = 100_000_000
LONGEST_SERIES = 6_000
BULK = 1_024  # latencies binned at once: some 10 us, too short to delay the next answers noticeably


class Recorder:
    """Latencies, statuses and failures of one block.

    The hot loop appends to `latencies` (of successes, ns) and `lateness` (send after due time, ns; open loop) and calls
    `flush` when there are `BULK`; `tick` must be called every `STEP_NS`.
    """

    def __init__(self) -> None:
        self.latencies = array("q")
        self.lateness = array("q")
        self.latency = Histogram()
        self.late = Histogram()
        self.status: Counter[int] = Counter()
        self.errors: Counter[str] = Counter()
        self.bytes_received = 0
        self.connects = 0
        self.failed_ns = 0
        self.late_ns = 0
        self.latency_ns = 0
        self._series = _Series()

    @property
    def responses(self) -> int:
        """How many successes were recorded."""
        return self.latency.total + len(self.latencies)

    def settle(self, known: Known) -> None:
        """Count the responses that were recognised by `known`."""
        if known.hits:
            self.status[known.status] += known.hits
            self.bytes_received += known.hits * known.length
            known.hits = 0

    def fail(self, kind: str, lasted_ns: int) -> None:
        """Count a failure that took `lasted_ns` since its request was due."""
        self.errors[kind] += 1
        self.failed_ns += lasted_ns
        self._series.failures += 1

    def flush(self) -> None:
        """Bin what the hot loop left."""
        if self.latencies:
            values = np.array(self.latencies, dtype=np.int64)
            del self.latencies[:]
            self.latency.add(values)
            self.latency_ns += int(values.sum())
            self._series.add(len(values), int(values.sum()), int(values.max()))
        if self.lateness:
            values = np.array(self.lateness, dtype=np.int64)
            del self.lateness[:]
            self.late.add(values)
            self.late_ns += int(values.sum())

    def tick(self) -> None:
        """End a step of the time series."""
        self.flush()
        self._series.tick()

    def series(self) -> TimeSeries:
        """Return the time series so far; a last step may be incomplete."""
        self.flush()
        return self._series.result()


class _Series:
    """Steps of 100 ms; when there are `LONGEST_SERIES`, each two become one and the step doubles."""

    def __init__(self) -> None:
        self.failures = 0
        self._current = [0, 0, 0]
        self._ticks_per_step = 1
        self._ticks = 0
        self._steps: list[tuple[int, int, int, int]] = []

    def add(self, responses: int, latency_ns: int, largest_ns: int) -> None:
        self._current[0] += responses
        self._current[1] += latency_ns
        self._current[2] = max(self._current[2], largest_ns)

    def tick(self) -> None:
        self._ticks += 1
        if self._ticks == self._ticks_per_step:
            self._end_step()
            if len(self._steps) == LONGEST_SERIES:
                self._halve()

    def _end_step(self) -> None:
        responses, total, largest = self._current
        self._steps.append((responses, self.failures, total, largest))
        self._current = [0, 0, 0]
        self.failures = self._ticks = 0

    def _halve(self) -> None:
        pairs = zip(self._steps[::2], self._steps[1::2], strict=True)
        self._steps = [(a[0] + b[0], a[1] + b[1], a[2] + b[2], max(a[3], b[3])) for a, b in pairs]
        self._ticks_per_step *= 2

    def result(self) -> TimeSeries:
        responses, total, largest = self._current
        steps = [*self._steps, (responses, self.failures, total, largest)] if self._is_open() else self._steps
        return TimeSeries(
            step_ms=self._ticks_per_step * STEP_NS / 1e6,
            responses=[step[0] for step in steps],
            failures=[step[1] for step in steps],
            latency_sum_us=[round(step[2] / 1e3) for step in steps],
            latency_max_us=[round(step[3] / 1e3) for step in steps],
        )

    def _is_open(self) -> bool:
        return bool(self._ticks or self._current[0] or self.failures)
