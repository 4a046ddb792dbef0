"""The processes of this machine that a program talks to: the database of a user's own service, found by its connections."""

from __future__ import annotations

import psutil

from iobound.lab.processes import tree


def of(pid: int) -> list[int]:
    """Return the processes that listen where the tree of `pid` has TCP connections to, those in the tree left out.

    What is reached by Unix socket, or runs on another machine or as another user, isn't seen.
    """
    own = set(tree(pid))
    connections = psutil.net_connections("tcp")
    bound = [each for each in connections if each.laddr]
    listeners = {each.laddr.port: each.pid for each in bound if each.status == psutil.CONN_LISTEN and each.pid}
    here = {each.laddr.ip for each in bound}
    reached = {each.raddr.port for each in connections if each.pid in own and each.raddr and each.raddr.ip in here}
    return sorted({listeners[port] for port in reached if port in listeners} - own)
