"""Whether a thread sleeps until somebody wakes it, as the kernel says: in a lock without a time-out, or an idle event loop.

A thread that computes is running, one that sleeps for a time or waits for an answer comes back by itself: neither waits.
"""

from __future__ import annotations

import platform
from pathlib import Path

FOREVER_MS = 50_000
"""What an event loop without timers waits: libev's wakes once a minute, the others never."""

_NUMBERS: dict[str, dict[int, str]] = {
    "x86_64": {
        202: "futex",
        232: "epoll",
        281: "epoll",
        441: "epoll2",
        7: "poll",
        73: "lock",
        72: "lock",
        65: "lock",
        220: "lock",
    },
    "aarch64": {98: "futex", 22: "epoll", 441: "epoll2", 73: "ppoll", 32: "lock", 25: "lock", 193: "lock", 192: "lock"},
}
CALLS = _NUMBERS.get(platform.machine(), {})


def waits(process: int, thread: int) -> bool:
    """Tell whether `thread` of `process` sleeps without an end of its own."""
    name, arguments = _call(process, thread)
    match name:
        case "futex":
            return arguments[3] == 0
        case "epoll":
            return not 0 <= _signed(arguments[3]) < FOREVER_MS
        case "epoll2":
            return arguments[3] == 0
    return name == "lock"


def idles(process: int, thread: int) -> bool:
    """Tell whether an event loop in `thread` has nothing to do now, timers apart."""
    return _call(process, thread)[0] in ("epoll", "epoll2")


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


def _signed(number: int) -> int:
    number &= 0xFFFFFFFF
    return number - (1 << 32) if number & 0x80000000 else number
