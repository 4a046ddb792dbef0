"""Sessions as threads of this process."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence

from iobound.race import sources, waits
from iobound.race.models import Call, Ended, described, resolved
from iobound.race.wakeup import Wakeup


class Model:
    """See `iobound.race.models.Model`. The threads are daemons: one that never ends doesn't hold the process."""

    def __init__(self, calls: Sequence[Call], wakeup: Wakeup) -> None:
        self.ended: dict[int, Ended] = {}
        self._calls = calls
        self._wakeup = wakeup
        self._threads: dict[int, threading.Thread] = {}
        self._watch = waits.Watch()

    def reset(self) -> None:
        """Begin an execution; threads of the last one that haven't ended tell nobody any more."""
        self.ended = {}
        self._threads = {}

    def start(self, session: int) -> None:
        """Start a thread."""
        ended = self.ended

        def run() -> None:
            try:
                how = Ended(returned=resolved(self._calls[session]()))
            except BaseException as error:  # SystemExit ends a session too
                how = described(error)
            self._wakeup.tell(lambda: ended.__setitem__(session, how))

        self._threads[session] = threading.Thread(target=run, name=f"iobound session {session}", daemon=True)
        self._threads[session].start()

    def waits(self, session: int) -> bool:
        """Ask the kernel what the thread sleeps in."""
        thread = self._threads[session].native_id
        return thread is not None and self._watch.waits(os.getpid(), thread)

    def moved(self, session: int) -> bool:
        """Tell whether it waits no longer."""
        return not self.waits(session)

    def source(self, session: int) -> str | None:
        """Look at the thread's stack."""
        frame = sys._current_frames().get(self._threads[session].ident or 0)
        return sources.innermost(frame)

    def in_driver(self, session: int) -> bool:
        """Look at the thread's stack."""
        return sources.is_driver(sys._current_frames().get(self._threads[session].ident or 0))

    def close(self) -> None:
        """Nothing to stop."""
