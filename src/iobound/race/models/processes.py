"""Sessions as processes, one each: they share nothing but the database."""

from __future__ import annotations

from collections.abc import Sequence

from iobound.race import waits
from iobound.race.models import Call, Ended
from iobound.race.wakeup import Wakeup
from iobound.race.workers import Worker


class Model:
    """See `iobound.race.models.Model`."""

    def __init__(self, calls: Sequence[Call], wakeup: Wakeup) -> None:
        self.ended: dict[int, Ended] = {}
        self._watch = waits.Watch()
        self._workers = [Worker("processes", calls, wakeup, self.ended) for _ in calls]

    def reset(self) -> None:
        """Begin an execution."""
        self.ended.clear()

    def start(self, session: int) -> None:
        """Let a process begin its call."""
        self._workers[session].start(session)

    def waits(self, session: int) -> bool:
        """Ask the kernel what the main thread sleeps in."""
        worker = self._workers[session]
        return worker.begun(session) and self._watch.waits(worker.pid, worker.pid)

    def moved(self, session: int) -> bool:
        """Tell whether it waits no longer."""
        return not self.waits(session)

    def source(self, session: int) -> str | None:
        """Ask the process."""
        return self._workers[session].source(session)

    def in_driver(self, session: int) -> bool:
        """Not known of another process."""
        return False

    def close(self) -> None:
        """End the processes."""
        for worker in self._workers:
            worker.close()
