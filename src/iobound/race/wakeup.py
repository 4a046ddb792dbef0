"""One place where the search waits: for sockets, and for threads that have something to tell."""

from __future__ import annotations

import os
import selectors
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

READ = selectors.EVENT_READ


class Wakeup:
    """A selector whose wait other threads and signals can end. Everything but `tell` belongs to the searching thread."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._told: deque[Callable[[], None]] = deque()
        self._watched: dict[int, Callable[[], None]] = {}
        self.watch(self._bell, self._listen)

    def watch(self, file: Any, ready: Callable[[], None]) -> None:
        """Call `ready` whenever `file` can be read."""
        self._watched[self._selector.register(file, READ, ready).fd] = ready

    def forget(self, file: Any) -> None:
        """Watch `file` no more."""
        with suppress(KeyError, ValueError):
            del self._watched[self._selector.unregister(file).fd]

    def tell(self, act: Callable[[], None]) -> None:
        """Let the searching thread call `act`; for any thread."""
        self._told.append(act)
        with suppress(OSError):  # closed: nobody listens any more
            os.eventfd_write(self._bell, 1)

    def wait(self, timeout_s: float) -> bool:
        """Handle what is ready, after up to `timeout_s` seconds; return whether there was something."""
        ready = self._selector.select(timeout_s)
        for key, _ in ready:
            ready_one = self._watched.get(key.fd)
            if ready_one and ready_one is key.data:  # not forgotten by one that was ready before it
                ready_one()
        return bool(ready)

    def close(self) -> None:
        """Stop watching."""
        self._selector.close()
        os.close(self._bell)

    def _listen(self) -> None:
        with suppress(BlockingIOError):
            os.eventfd_read(self._bell)
        while self._told:
            self._told.popleft()()
