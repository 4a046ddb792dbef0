"""A server that does nothing: whatever it is asked, it answers the same. What a load engine reaches against it is its ceiling.

``python -m iobound.load.null_server`` listens on a free port of 127.0.0.1, prints it, and ends when its standard input does.
It takes the end of a read for the end of a request, which holds for requests that are sent one at a time and fit in a read.
"""

from __future__ import annotations

import select
import socket
from contextlib import suppress

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!"

_PARENT = 0
_READ_SIZE = 65_536


def main() -> None:
    """Serve until the standard input ends."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
    listener.setblocking(False)
    accepting = listener.fileno()
    epoll = select.epoll()
    for fd in (accepting, _PARENT):
        epoll.register(fd, select.EPOLLIN)
    print(listener.getsockname()[1], flush=True)
    connections: dict[int, socket.socket] = {}
    while True:
        for fd, _ in epoll.poll():
            if fd == accepting:
                connection = _accept(listener)
                if connection:
                    connections[connection.fileno()] = connection
                    epoll.register(connection, select.EPOLLIN)
            elif fd == _PARENT:
                return
            else:
                connection = connections[fd]
                try:
                    if connection.recv(_READ_SIZE):
                        connection.send(ANSWER)
                        continue
                except BlockingIOError:
                    continue
                except OSError:
                    pass
                del connections[fd]
                connection.close()


def _accept(listener: socket.socket) -> socket.socket | None:
    try:
        connection, _ = listener.accept()
    except OSError:
        return None
    connection.setblocking(False)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


if __name__ == "__main__":
    with suppress(BrokenPipeError):  # whoever started it is gone before it told its port
        main()
