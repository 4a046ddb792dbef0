"""Progress on standard error: a bar with an estimate on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

PLAIN_INTERVAL_S = 5.0  # between plain lines about the same thing


class Bar:
    """Tells what is being done and how much of the whole is done; a context manager."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._bar: Progress | None = None
        self._task = TaskID(0)
        self._last = ("", -PLAIN_INTERVAL_S)

    def __enter__(self) -> Bar:
        if self._console.is_terminal:
            columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, console=self._console, transient=True)
            self._task = self._bar.add_task("preparing", total=1.0)
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        if self._bar:
            self._bar.stop()

    def __call__(self, what: str, share: float) -> None:
        """Show that `what` is being done, with `share` (0 to 1) of the whole done."""
        if self._bar:
            self._bar.update(self._task, description=what, completed=share)
            return
        last, at = self._last
        if what != last or time.monotonic() - at >= PLAIN_INTERVAL_S:
            self._last = (what, time.monotonic())
            with suppress(OSError):  # nobody reads it any more, or the disk is full: no reason to stop
                print(f"iobound: {share:4.0%} {what}", file=sys.stderr, flush=True)
