"""How many sessions were really busy at the service while a block ran: samples in a thread of their own."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from types import TracebackType

from iobound.errors import LabError
from iobound.lab.service import Activity, Service

INTERVAL_S = 0.1


@dataclass(frozen=True)
class Sampled:
    """Means over the samples of an interval; ``None`` where none was taken."""

    active_mean: float | None
    lock_waits_mean: float | None
    sessions_max: int | None


class ActivityProbe:
    """Samples `Service.activity` every `INTERVAL_S` between entering and leaving the context."""

    def __init__(self, service: Service, url: str) -> None:
        self._service = service
        self._url = url
        self._samples: list[tuple[float, Activity]] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, name="activity probe", daemon=True)

    def _sample(self) -> None:
        while not self._ended.wait(INTERVAL_S):
            try:
                activity = self._service.activity(self._url)
            except LabError:
                return  # the service is gone: whoever reads its counters next says so
            if activity is None:
                return
            self._samples.append((time.monotonic(), activity))

    def __enter__(self) -> ActivityProbe:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._ended.set()
        self._thread.join()

    def between(self, start_s: float, end_s: float) -> Sampled:
        """Average the samples taken from `start_s` to `end_s` (CLOCK_MONOTONIC)."""
        samples = [activity for at, activity in self._samples if start_s <= at <= end_s]
        if not samples:
            return Sampled(None, None, None)
        return Sampled(
            active_mean=sum(sample.active for sample in samples) / len(samples),
            lock_waits_mean=sum(sample.lock_waits for sample in samples) / len(samples),
            sessions_max=max(sample.sessions for sample in samples),
        )
