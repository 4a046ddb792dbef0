"""The processes of this machine that a program talks to: the database of a user's own service, found by its connections."""

from __future__ import annotations

import psutil

from iobound.lab.processes import tree


def of(pid: int) -> list[int]:
    """Return the processes that listen where the tree of `pid` has TCP connections to, those in the tree left out.

    What is reached by Unix socket, or runs on another machine or as another user, isn't seen.
    """
    own = set(tree(pid))
    listeners: dict[int, int] = {}
    here: set[str] = set()
    reached: set[tuple[str, int]] = set()
    for connection in psutil.net_connections("tcp"):
        if connection.laddr:
            here.add(connection.laddr.ip)
            if connection.status == psutil.CONN_LISTEN and connection.pid:
                listeners[connection.laddr.port] = connection.pid
        if connection.raddr and connection.pid in own:
            reached.add((connection.raddr.ip, connection.raddr.port))
    return sorted({listeners[port] for address, port in reached if address in here and port in listeners} - own)
