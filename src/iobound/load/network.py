"""Real connections under one epoll, with an alarm that is never early.

Not an event loop: a loop's timers are a millisecond coarse, and it sends what it was given when it comes round to it, which
would put its own delay into every latency. Here the system call is made where the clock is read.
"""

from __future__ import annotations

import ctypes
import errno
import os
import select
import socket
import ssl
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from urllib.parse import urlsplit

from iobound.load.spec import LoadSpec
from iobound.load.transport import READABLE, WRITABLE, Event

_TRY_S = 1.0  # for a name with several addresses: how long one may take to accept

Address = tuple[socket.AddressFamily, str | tuple[object, ...]]


class Network:
    """The server of a spec, as a `Transport`. Close it in the end."""

    clock = staticmethod(time.monotonic_ns)

    def __init__(self, spec: LoadSpec, control: int) -> None:
        self.control = control
        self._epoll = select.epoll()
        self.poll: Callable[[], Sequence[Event]] = self._epoll.poll
        self._timer = Timer()
        self.alarm = self._timer.fd
        self.wake_at = self._timer.set
        for fd in (self.alarm, control):
            self._epoll.register(fd, select.EPOLLIN)
        parts = urlsplit(spec.url)
        self._host = parts.hostname or ""
        self._tls = _tls_context(spec) if parts.scheme == "https" else None
        self._unresolved: OSError | None = None
        try:
            self._address = _find(self._host, parts.port or (443 if self._tls else 80), spec.unix_socket)
        except OSError as error:
            self._unresolved = error

    def connect(self) -> PlainLink:
        """Begin a connection; raises `OSError`, also for a name that has no address."""
        if self._unresolved:
            raise type(self._unresolved)(*self._unresolved.args)
        family, address = self._address
        connection = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            if family != socket.AF_UNIX:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            failure = connection.connect_ex(address)
            if failure not in {0, errno.EINPROGRESS}:
                raise OSError(failure, os.strerror(failure))
        except OSError:
            connection.close()
            raise
        if self._tls:
            return TlsLink(connection, self._epoll, self._tls, self._host)
        return PlainLink(connection, self._epoll)

    def close(self) -> None:
        """Close what isn't a connection."""
        self._epoll.close()
        self._timer.close()


class PlainLink:
    """A TCP or Unix connection."""

    def __init__(self, connection: socket.socket, epoll: select.epoll) -> None:
        self.fd = connection.fileno()
        self.recv: Callable[[int], bytes] = connection.recv
        self.send: Callable[[bytes], int] = connection.send
        self._connection = connection
        self._epoll = epoll
        epoll.register(self.fd, WRITABLE)

    def finish(self) -> bool:
        """Tell that the connection is established; raises `OSError` where it failed."""
        failure = self._connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if failure:
            raise OSError(failure, os.strerror(failure))
        self.want_write(False)
        return True

    def want_write(self, wanted: bool) -> None:
        """Have room to send reported, besides bytes to read."""
        self._epoll.modify(self.fd, READABLE | WRITABLE if wanted else READABLE)

    def close(self) -> None:
        """Close it; epoll forgets a closed descriptor by itself."""
        self._connection.close()


class TlsLink(PlainLink):
    """A TLS connection over TCP or a Unix socket. Its one read takes all that has arrived."""

    def __init__(self, connection: socket.socket, epoll: select.epoll, context: ssl.SSLContext, host: str) -> None:
        super().__init__(connection, epoll)
        self._context = context
        self._host = host
        self._tls: ssl.SSLSocket | None = None
        self.recv = self._recv
        self.send = self._send

    def finish(self) -> bool:
        """Go on with connect and handshake; tell whether both are done."""
        if self._tls is None:
            super().finish()
            self._connection = self._tls = self._context.wrap_socket(
                self._connection, server_hostname=self._host, do_handshake_on_connect=False
            )
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self.want_write(False)
            return False
        except ssl.SSLWantWriteError:
            self.want_write(True)
            return False
        self.want_write(False)
        return True

    def _recv(self, size: int) -> bytes:
        assert self._tls
        parts = []
        try:
            while part := self._tls.recv(size):
                parts.append(part)
                if not self._tls.pending():
                    break
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            if not parts:
                raise BlockingIOError from None
        return b"".join(parts)

    def _send(self, data: bytes) -> int:
        assert self._tls
        try:
            return self._tls.send(data)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise BlockingIOError from None


class Timer:
    """A descriptor that becomes readable at a moment of CLOCK_MONOTONIC: never before, and without a timer slack.

    Setting it again clears it.
    """

    def __init__(self) -> None:
        self.fd = _checked(_libc.timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC))
        self._setting = _Setting()
        self._reference = ctypes.byref(self._setting)

    def set(self, when_ns: int) -> None:
        """Let it ring at `when_ns`, at once where that is past."""
        self._setting.seconds, self._setting.nanoseconds = divmod(max(when_ns, 1), 1_000_000_000)
        _checked(_libc.timerfd_settime(self.fd, _ABSOLUTE, self._reference, None))

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self.fd)


class _Setting(ctypes.Structure):
    """C's ``struct itimerspec``: an interval, which stays 0, and the moment."""

    _fields_ = (
        ("interval_seconds", ctypes.c_long),
        ("interval_nanoseconds", ctypes.c_long),
        ("seconds", ctypes.c_long),
        ("nanoseconds", ctypes.c_long),
    )


_ABSOLUTE = 1  # TFD_TIMER_ABSTIME
_libc = ctypes.CDLL(None, use_errno=True)
_libc.timerfd_settime.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


def _checked(result: int) -> int:
    if result < 0:
        failure = ctypes.get_errno()
        raise OSError(failure, os.strerror(failure))
    return result


def _find(host: str, port: int, unix_socket: str | None) -> Address:
    """Return where to connect to: of several addresses of a name, the first that accepts."""
    if unix_socket is not None:
        return socket.AF_UNIX, unix_socket
    found: list[Address] = [
        (family, address) for family, _, _, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    ]
    for family, address in found if len(found) > 1 else []:
        with socket.socket(family, socket.SOCK_STREAM) as connection, suppress(OSError):
            connection.settimeout(_TRY_S)
            connection.connect(address)
            return family, address
    return found[0]


def _tls_context(spec: LoadSpec) -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    if not spec.verify_tls:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
