"""Whether a thread sleeps until somebody wakes it, as the kernel says: in a lock without a time-out, or an idle event loop.

A thread that computes is running, one that sleeps for a time or waits for an answer comes back by itself: neither waits.
"""

from __future__ import annotations

import platform
from pathlib import Path

TURN_NS = 200_000
"""What a thread that waits in turns may use of a core from one look to the next."""

_NUMBERS: dict[str, dict[int, str]] = {
    "x86_64": {202: "futex", 232: "epoll", 281: "epoll", 441: "epoll", 73: "lock", 72: "lock", 65: "lock", 220: "lock"},
    "aarch64": {98: "futex", 22: "epoll", 441: "epoll", 32: "lock", 25: "lock", 193: "lock", 192: "lock"},
}
CALLS = _NUMBERS.get(platform.machine(), {})


class Watch:
    """Looks at threads again and again. Some locks are waited for in short turns, and so is Python's own: of those it waits
    who used no time on a core since the last look.
    """

    def __init__(self) -> None:
        self._on_core: dict[tuple[int, int], int] = {}

    def waits(self, process: int, thread: int) -> bool:
        """Tell whether `thread` of `process` sleeps in a lock until somebody opens it."""
        name, arguments = _call(process, thread)
        if name == "lock" or (name == "futex" and arguments[3] == 0):
            return True
        before, now = self._on_core.get((process, thread), 0), _on_core_ns(process, thread)
        self._on_core[process, thread] = now
        return name == "futex" and 0 <= now - before < TURN_NS


def idles(process: int, thread: int) -> bool:
    """Tell whether an event loop in `thread` has nothing to do now, timers apart."""
    return _call(process, thread)[0] == "epoll"


def _call(process: int, thread: int) -> tuple[str, list[int]]:
    """Return the system call that a thread sleeps in, with its arguments; no name where it runs, or can't be looked at."""
    try:
        words = Path(f"/proc/{process}/task/{thread}/syscall").read_text().split()
    except OSError:
        return "", []
    if not words or not words[0].isdigit():
        return "", []
    return CALLS.get(int(words[0]), ""), [int(word, 16) for word in words[1:7]]


def runs(process: int, apart_from: set[int]) -> bool:
    """Tell whether any thread of `process` but those is on a core or wants to be."""
    for thread in Path(f"/proc/{process}/task").iterdir():
        if int(thread.name) in apart_from:
            continue
        try:
            state = (thread / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state in "RD":
            return True
    return False


def _on_core_ns(process: int, thread: int) -> int:
    try:
        return int(Path(f"/proc/{process}/task/{thread}/schedstat").read_text().split()[0])
    except (OSError, IndexError, ValueError):
        return 0
