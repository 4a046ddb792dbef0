"""The server of a URL, if it runs on this machine: which processes listen there, and the CPU they take under load."""

from __future__ import annotations

import ipaddress
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import psutil

from iobound.lab.probes.cpu import SCHEDULER_CLOCK, TICK_S, stat
from iobound.lab.processes import tree

INTERVAL_S = 0.05  # between readings: these two take some 1 % of a core
SEARCH_S = 0.5  # between searches for new descendants, which take some 2 ms
IDLE = 0.02  # of a core: a process that uses less (a parent that only waits) isn't one that serves


@dataclass(frozen=True)
class Use:
    """CPU seconds of a server, and how many of its processes were at work."""

    cpu_s: float
    busy_processes: int


def listeners(url: str, unix_socket: str | None = None) -> list[int]:
    """Return the processes of this machine that listen where `url` leads; none for one elsewhere, or not ours to see."""
    if unix_socket is not None:
        path = os.path.realpath(unix_socket)
        return _holders("unix", lambda each: bool(each.laddr) and os.path.realpath(str(each.laddr)) == path)
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    if not _is_here(parts.hostname or "", port):
        return []
    return _holders("tcp", lambda each: each.status == psutil.CONN_LISTEN and each.laddr.port == port)


def _holders(kind: str, wanted: Callable[[Any], bool]) -> list[int]:
    """Return the processes that hold a socket like that. Asked one by one: of several, psutil's table of all names only one."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if any(map(wanted, process.net_connections(kind))):
                found.append(process.pid)
    return sorted(found)


def _is_here(host: str, port: int) -> bool:
    """Tell whether `host` leads to an address of this machine."""
    try:
        addresses = {str(address[0]) for *_, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
    except OSError:
        return False
    own = {address.address for interface in psutil.net_if_addrs().values() for address in interface}
    return any(address in own or ipaddress.ip_address(address).is_loopback for address in addresses)


class ServerProbe:
    """Reads the CPU clocks of `roots` and their descendants between entering and leaving the context.

    Descendants that ended count with the parent that waited for them, so that workers may come and go.
    """

    def __init__(self, roots: Iterable[int]) -> None:
        self._roots = list(roots)
        self._readings: list[tuple[float, dict[int, float]]] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="server probe", daemon=True)

    def __enter__(self) -> ServerProbe:
        if self._roots:
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._ended.set()
        if self._roots:
            self._thread.join()

    def between(self, start_s: float, end_s: float) -> Use | None:
        """Return the use from `start_s` to `end_s` (CLOCK_MONOTONIC), interpolated; ``None`` if it wasn't watched then."""
        times = [at for at, _ in self._readings]
        if not times or times[0] >= end_s or times[-1] <= start_s:
            return None
        clocks = [reading for _, reading in self._readings]
        spent = [self._spent(before, after) for before, after in pairwise(clocks)]
        began, ended = np.interp([start_s, end_s], times, np.cumsum([0.0, *spent]))
        first, last = (clocks[int(np.abs(np.subtract(times, edge)).argmin())] for edge in (start_s, end_s))
        busy = sum(clock - first.get(pid, 0.0) > IDLE * (end_s - start_s) for pid, clock in last.items())
        return Use(max(0.0, float(ended - began)), busy)

    def _spent(self, before: dict[int, float], after: dict[int, float]) -> float:
        """Return the CPU seconds between two readings. What a descendant that ended had used is in its parent's account now."""
        gone = sum(clock for pid, clock in before.items() if pid not in after and pid not in self._roots)
        return sum(clock - before.get(pid, 0.0) for pid, clock in after.items()) - gone

    def _watch(self) -> None:
        searched = -SEARCH_S
        pids: set[int] = set()
        ended = False
        while not ended:
            ended = self._ended.is_set()  # the last reading is taken after the block
            now = time.monotonic()
            if now - searched >= SEARCH_S:
                pids = {pid for root in self._roots for pid in tree(root)}
                searched = now
            self._readings.append((time.monotonic(), _clocks(pids)))
            self._ended.wait(INTERVAL_S)


def _clocks(pids: Iterable[int]) -> dict[int, float]:
    clocks = {}
    for pid in pids:
        with suppress(OSError):  # it has just ended
            ended_s = sum(stat(pid).ended_ticks) * TICK_S
            clocks[pid] = time.clock_gettime((~pid << 3) | SCHEDULER_CLOCK) + ended_s
    return clocks
