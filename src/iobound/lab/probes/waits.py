"""What the sessions of a service wait for while something runs: samples in a thread of their own."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable

from iobound.errors import LabError

INTERVAL_S = 0.05  # a look costs PostgreSQL some 0.3 ms, which is in the CPU that it used


class WaitProbe:
    """Calls `look`, which counts sessions by what they wait for, every `INTERVAL_S` while it is entered."""

    def __init__(self, look: Callable[[], dict[str, int]]) -> None:
        self._look = look
        self._samples: list[tuple[float, dict[str, int]]] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, name="wait probe", daemon=True)

    def _sample(self) -> None:
        while not self._ended.wait(INTERVAL_S):
            try:
                self._samples.append((time.monotonic(), self._look()))
            except LabError:
                return  # the service is gone: whoever asks it next says so

    def __enter__(self) -> WaitProbe:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._ended.set()
        self._thread.join()

    def between(self, start_s: float, end_s: float) -> dict[str, float] | None:
        """Return the mean number of sessions by what they waited for; ``None`` where no sample was taken (CLOCK_MONOTONIC)."""
        taken = [sample for at, sample in self._samples if start_s <= at <= end_s]
        total: Counter[str] = Counter()
        for sample in taken:
            total.update(sample)
        return {what: count / len(taken) for what, count in total.items()} if taken else None
