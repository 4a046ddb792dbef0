"""The server of a URL, if it runs on this machine: which processes listen there, and the CPU they take under load."""

from __future__ import annotations

import ipaddress
import os
import socket
import threading
import time
from collections.abc import Container, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from urllib.parse import urlsplit

import psutil

from iobound.lab.probes.cpu import SCHEDULER_CLOCK, TICK_S, stat
from iobound.lab.processes import tree

INTERVAL_S = 0.02
SEARCH_S = 0.25  # between searches for new descendants, which take some 2 ms
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
        found = [
            each.pid for each in psutil.net_connections("unix") if each.laddr and os.path.realpath(str(each.laddr)) == path
        ]
        return sorted({pid for pid in found if pid})
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    if not _is_here(parts.hostname or "", port):
        return []
    listening = [each for each in psutil.net_connections("tcp") if each.status == psutil.CONN_LISTEN]
    return sorted({each.pid for each in listening if each.pid and each.laddr and each.laddr.port == port})


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
        """Return the use from `start_s` to `end_s` (CLOCK_MONOTONIC), to the nearest readings; ``None`` if there are none."""
        if not self._readings:
            return None
        began, first = min(self._readings, key=lambda reading: abs(reading[0] - start_s))
        ended, last = min(self._readings, key=lambda reading: abs(reading[0] - end_s))
        if ended <= began:
            return None
        used = [clock - first.get(pid, 0.0) for pid, clock in last.items()]
        # what had been counted of a descendant that ended is in the account of its parent now
        gone = sum(clock for pid, clock in first.items() if pid not in last and pid not in self._roots)
        share = (end_s - start_s) / (ended - began)
        return Use(max(0.0, sum(used) - gone) * share, sum(each > IDLE * (ended - began) for each in used))

    def _watch(self) -> None:
        searched = -SEARCH_S
        pids: set[int] = set()
        parents: set[int] = set()
        while not self._ended.is_set():
            now = time.monotonic()
            if now - searched >= SEARCH_S:
                pids = {pid for root in self._roots for pid in tree(root)}
                parents = pids & {*self._roots, *_parents(pids)}
                searched = now
            self._readings.append((time.monotonic(), _clocks(pids, parents)))
            self._ended.wait(INTERVAL_S)


def _parents(pids: Iterable[int]) -> Iterator[int]:
    for pid in pids:
        with suppress(OSError):
            yield stat(pid).parent


def _clocks(pids: Iterable[int], parents: Container[int]) -> dict[int, float]:
    clocks = {}
    for pid in pids:
        with suppress(OSError):  # it has just ended
            ended_s = sum(stat(pid).ended_ticks) * TICK_S if pid in parents else 0.0
            clocks[pid] = time.clock_gettime((~pid << 3) | SCHEDULER_CLOCK) + ended_s
    return clocks
