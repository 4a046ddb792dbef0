"""Servers that answer as they please: a function decides for every connection what happens on it."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHello"

Behaviour = Callable[[socket.socket], None]


def read_request(connection: socket.socket) -> bytes:
    """Return one request, body included; b"" where the peer has closed."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return b""
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
    while len(body) < length:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


def answering(*answers: bytes, close: bool = False) -> Behaviour:
    """Answer every request with `answers`, sent apart; with `close`, end the connection after the first."""

    def behave(connection: socket.socket) -> None:
        while read_request(connection):
            for place, answer in enumerate(answers):
                if place:
                    time.sleep(0.001)
                connection.sendall(answer)
            if close:
                return

    return behave


def resetting(connection: socket.socket) -> None:
    """Reset the connection instead of answering."""
    read_request(connection)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def hanging(connection: socket.socket) -> None:
    """Never answer."""
    while connection.recv(65536):
        pass


def interim(connection: socket.socket) -> None:
    """Say 100 first, and mean it."""
    while read_request(connection):
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        time.sleep(0.001)
        connection.sendall(GOOD)


class Server:
    """Listens and lets `behaviour` loose on every connection, in a thread each. A context manager."""

    def __init__(
        self, behaviour: Behaviour, *, address: str = "127.0.0.1", path: Path | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        self.connections = 0
        self._behaviour = behaviour
        self._tls = tls
        if path:
            self._listener = socket.socket(socket.AF_UNIX)
            self._listener.bind(str(path))
            self._listener.listen(1024)
            self.url = "http://localhost"
        else:
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            self._listener = socket.create_server((address, 0), family=family, backlog=1024)
            port = self._listener.getsockname()[1]
            host = f"[{address}]" if ":" in address else address
            self.url = f"{'https' if tls else 'http'}://{host}:{port}"
        self._open: set[socket.socket] = set()
        self._thread = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> Server:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()
        for connection in list(self._open):
            with suppress(OSError):  # its thread may be faster
                connection.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        self._open.add(connection)
        try:
            if self._tls:
                connection = self._tls.wrap_socket(connection, server_side=True)
            else:
                connection.settimeout(None)
            self._behaviour(connection)
        except OSError:
            pass
        finally:
            self._open.discard(connection)
            connection.close()
