"""Requests whose answers are waited for, at a pace that leaves nothing to queue: how long a way over a network takes."""

from __future__ import annotations

import select
import socket
import time
from collections import deque
from collections.abc import Callable, Sequence

from iobound.errors import LabError
from iobound.load.network import Timer

PATIENCE_S = 10.0
READ = 1 << 16


def response_us(
    connections: Sequence[socket.socket], request: bytes, complete: Callable[[bytes], bool], count: int, every_s: float = 0.0
) -> list[float]:
    """Send `request` `count` times and return how long each answer took, in microseconds, in the order of the answers.

    One is sent every `every_s` seconds, or when a connection is free again, on the connections in turn. `complete` tells
    whether all of an answer is there. Raises `LabError` where one doesn't come, `OSError` for a broken connection.
    """
    free = deque(connections)
    by_fd = {each.fileno(): each for each in connections}
    sent_at: dict[int, int] = {}
    so_far: dict[int, bytes] = {}
    took: list[float] = []
    timer, epoll = Timer(), select.epoll()
    for fd in (timer.fd, *by_fd):
        epoll.register(fd, select.EPOLLIN)
    due = time.monotonic_ns()
    try:
        while len(took) < count:
            now = time.monotonic_ns()
            to_send = free and len(took) + len(sent_at) < count
            if to_send and due <= now:
                connection = free.popleft()
                fd = connection.fileno()
                so_far[fd], sent_at[fd] = b"", time.monotonic_ns()
                connection.sendall(request)
                due = now + round(every_s * 1e9)
                continue
            timer.set(due if to_send else min(sent_at.values()) + round(PATIENCE_S * 1e9))
            happened = epoll.poll()
            now = time.monotonic_ns()
            for fd, _ in happened:
                if fd != timer.fd:
                    so_far[fd] += _received(by_fd[fd])
                    if complete(so_far[fd]):
                        took.append((now - sent_at.pop(fd)) / 1000)
                        free.append(by_fd[fd])
                elif not to_send:
                    raise LabError(f"no answer within {PATIENCE_S:g} s")
    finally:
        timer.close()
        epoll.close()
    return took


def _received(connection: socket.socket) -> bytes:
    data = connection.recv(READ)
    if not data:
        raise ConnectionResetError("it was closed before an answer was there")
    return data
