"""A server that delays each answer precisely and remembers how long each request really stayed in it.

``python truthful_server.py MODE SECONDS`` listens on a free port of 127.0.0.1, prints it, and at the end of its standard input
prints the stays in nanoseconds as JSON. MODE ``delays`` answers 90.5 % after 2 ms, 9 % after 10 ms and 0.5 % after 50 ms;
``stall`` answers at once, but does nothing for 1 s from SECONDS after the first request on.
"""

from __future__ import annotations

import gc
import heapq
import json
import random
import select
import socket
import sys
import time

from iobound.load.network import Timer

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
MS = 1_000_000
PARENT = 0


def main(mode: str, seconds: float) -> None:
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    timer = Timer()
    epoll = select.epoll()
    for fd in (listener.fileno(), timer.fd, PARENT):
        epoll.register(fd, select.EPOLLIN)
    print(listener.getsockname()[1], flush=True)
    connections: dict[int, socket.socket] = {}
    draw = random.Random(7)
    due: list[tuple[int, int, int]] = []
    stays: list[int] = []
    stall_at: int | None = None
    gc.disable()
    while True:
        for fd, _ in epoll.poll():
            if fd == PARENT:
                print(json.dumps(stays), flush=True)
                return
            if fd == listener.fileno():
                connection, _ = listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connections[connection.fileno()] = connection
                epoll.register(connection, select.EPOLLIN)
            elif fd != timer.fd:
                arrived = time.monotonic_ns()
                if not receive(connections[fd]):
                    connections.pop(fd).close()
                elif mode == "delays":
                    share = draw.random()
                    delay = 2 * MS if share < 0.905 else 10 * MS if share < 0.995 else 50 * MS
                    heapq.heappush(due, (arrived + delay, fd, arrived))
                else:
                    stall_at = stall_at or arrived + round(seconds * 1e9)
                    if stall_at <= arrived < stall_at + 1_000 * MS:
                        time.sleep((stall_at + 1_000 * MS - arrived) / 1e9)
                    connections[fd].send(ANSWER)
        while due and due[0][0] <= time.monotonic_ns():
            _, fd, arrived = heapq.heappop(due)
            if fd in connections:
                stays.append(time.monotonic_ns() - arrived)
                connections[fd].send(ANSWER)
        timer.set(due[0][0] if due else time.monotonic_ns() + 3_600_000 * MS)


def receive(connection: socket.socket) -> bytes:
    try:
        return connection.recv(65536)
    except OSError:
        return b""


main(sys.argv[1], float(sys.argv[2]))
