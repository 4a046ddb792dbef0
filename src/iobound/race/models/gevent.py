"""Sessions as greenlets of one process in which gevent has patched everything before anything else was imported."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

from iobound.errors import Unavailable
from iobound.race import waits
from iobound.race.models import Call, Ended
from iobound.race.wakeup import Wakeup
from iobound.race.workers import Worker


class Model:
    """See `iobound.race.models.Model`."""

    def __init__(self, calls: Sequence[Call], wakeup: Wakeup) -> None:
        if importlib.util.find_spec("gevent") is None:
            raise Unavailable("gevent isn't there; install it with: pip install gevent")
        self.ended: dict[int, Ended] = {}
        self._worker = Worker("gevent", calls, wakeup, self.ended)

    def reset(self) -> None:
        """Begin an execution."""
        self.ended.clear()

    def start(self, session: int) -> None:
        """Let a greenlet begin its call."""
        self._worker.start(session)

    def waits(self, session: int) -> bool:
        """Tell whether the hub has nothing to do."""
        return self._worker.begun(session) and waits.idles(self._worker.pid, self._worker.pid)

    def moved(self, session: int) -> bool:
        """Tell whether it waits no longer."""
        return not self.waits(session)

    def source(self, session: int) -> str | None:
        """Ask the process, where the greenlet was when it gave way."""
        return self._worker.source(session)

    def in_driver(self, session: int) -> bool:
        """Not known of another process."""
        return False

    def close(self) -> None:
        """End the process."""
        self._worker.close()
