"""The processes of this machine that a program talks to: the database of a user's own service, found by its connections."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from ipaddress import ip_address
from types import TracebackType

import psutil

from iobound.lab.processes import tree

INTERVAL_S = 0.02  # between looks, which take some milliseconds

Peers = Sequence[int] | None
"""Processes, ``None`` where there is something that isn't ours to see."""


def of(pid: int) -> Peers:
    """Return the processes that listen where the tree of `pid` has TCP connections to, those in the tree left out.

    ``None`` where it is connected to another machine, or to a process that this user may not look at. What is reached by Unix
    socket isn't seen.
    """
    own = set(tree(pid))
    connections = []
    for each in own:  # one by one takes some 1 ms, all processes of the machine too long to see a connection of a few
        with suppress(psutil.Error):
            connections.extend(psutil.Process(each).net_connections("tcp"))
    asked_at = {one.laddr.port for one in connections if one.laddr and one.status == psutil.CONN_LISTEN}
    reached = {
        (one.raddr.ip, one.raddr.port)
        for one in connections
        if one.laddr and one.raddr and one.laddr.port not in asked_at  # else it was made by who asks
    }
    if not reached:
        return []
    here = {address.address for interface in psutil.net_if_addrs().values() for address in interface}
    listeners = {
        one.laddr.port: one.pid
        for one in psutil.net_connections("tcp")
        if one.laddr and one.pid and one.status == psutil.CONN_LISTEN
    }
    if not all(port in listeners and (ip in here or ip_address(ip).is_loopback) for ip, port in reached):
        return None
    return sorted({listeners[port] for _, port in reached} - own)


def both(one: Peers, other: Peers) -> Peers:
    """Put together what two looks found."""
    return None if one is None or other is None else sorted({*one, *other})


class PeerProbe:
    """Looks for the peers of `pid` again and again between entering and leaving the context, and once after it.

    A program that connects for each request is only seen to do so while it is at work. `found` holds all that were seen.
    """

    def __init__(self, pid: int) -> None:
        self.found: Peers = ()
        self._pid = pid
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, name="peer probe", daemon=True)

    def __enter__(self) -> PeerProbe:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(INTERVAL_S):
            self.found = both(self.found, of(self._pid))
        self.found = both(self.found, of(self._pid))
