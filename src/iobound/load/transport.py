"""What a generator needs of the world: connections, a clock, an alarm. Real ones are in `network`, scripted ones in tests."""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import Callable, Sequence
from typing import Protocol

READABLE = 1
"""The event (EPOLLIN alone) of a connection that only has bytes to read."""
WRITABLE = 4

Event = tuple[int, int]


class Link(Protocol):
    """One non-blocking connection. All but `close` raise `OSError` for failures, `BlockingIOError` for "not now"."""

    fd: int
    recv: Callable[[int], bytes]
    send: Callable[[bytes], int]

    def finish(self) -> bool:
        """Go on with connecting after an event; tell whether the connection is established."""
        ...

    def want_write(self, wanted: bool) -> None:
        """Report (or no longer report) when there is room to send."""
        ...

    def close(self) -> None:
        """Close it; its events end."""
        ...


class Transport(Protocol):
    """Where links come from, and what time it is.

    `alarm` is the descriptor whose event says that the time given to `wake_at` has come, `control` the one that says: stop.
    """

    alarm: int
    control: int
    clock: Callable[[], int]
    poll: Callable[[], Sequence[Event]]

    def wake_at(self, when_ns: int) -> None:
        """Set the alarm, never to be early."""
        ...

    def connect(self) -> Link:
        """Begin a connection; raises `OSError`."""
        ...


def kind_of(error: OSError) -> str:
    """Return the kind of failure that `error` counts as."""
    match error:
        case ssl.SSLError():
            return "tls"
        case socket.gaierror():
            return "name"
        case ConnectionRefusedError() | FileNotFoundError() | BlockingIOError():
            return "refused"
        case ConnectionError():
            return "reset"
        case TimeoutError():
            return "timeout"
    return "no-port" if error.errno == errno.EADDRNOTAVAIL else "unreachable"
