"""The contract that every service file keeps to, and how services are found by their folder."""

from __future__ import annotations

import pkgutil
import statistics
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib import import_module
from typing import ClassVar, Literal, Protocol

from iobound.lab import services
from iobound.records import ServiceInfo


@dataclass(frozen=True)
class ServiceOptions:
    """How a service is wanted. `url` uses a server that is already there instead of starting one.

    `durable` asks for flushes at commit as in production; without it they are off, and the settings say so. `cpus` pins a
    server that we start.
    """

    url: str | None = None
    durable: bool = False
    max_connections: int = 400
    cpus: list[int] | None = None


@dataclass(frozen=True)
class Counters:
    """Cumulative counts at the server: data statements by verb (lower case), transaction control, rows sent or changed.

    `busy_s` is the time that the server spent executing statements, ``None`` where it doesn't tell.
    """

    statements: dict[str, int] = field(default_factory=dict)
    transaction_control: int = 0
    rows: int = 0
    busy_s: float | None = None


@dataclass(frozen=True)
class Activity:
    """Sessions of targets at one moment: connected, executing, and of those waiting for a lock."""

    sessions: int
    active: int
    lock_waits: int


@dataclass(frozen=True)
class Leftovers:
    """What `Service.clean` found of ours on a server: dropped, or left since a running iobound uses it."""

    dropped: list[str]
    in_use: list[str]


class Service(Protocol):
    """A running database or cache. Made by ``start``; a context manager that leaves nothing behind."""

    name: ClassVar[str]
    kind: ClassVar[Literal["sql", "cache"]]
    sleeps: ClassVar[bool]
    """Whether the database can be asked to sleep (workload ``db-wait``)."""
    flag: ClassVar[str | None]
    """The option that gives a server by URL (``postgres`` for ``--postgres URL``), ``None`` for a service without servers."""

    @classmethod
    def unavailable(cls) -> str | None:
        """Say why no private server can be started here, with the command that installs it; ``None`` where one can."""
        ...

    @classmethod
    def clean(cls, url: str) -> Leftovers:
        """Drop from the server of `url` what killed runs left there; only what carries our mark is touched."""
        ...

    @classmethod
    def start(cls, options: ServiceOptions) -> Service:
        """Start a private server, or connect to `options.url`.

        Raises `Unavailable`, naming what was tried and the command that installs it, or `LabError`.
        """
        ...

    def info(self) -> ServiceInfo:
        """Version, source and settings as the running server reports them, and the median time of a ping."""
        ...

    def pids(self) -> list[int] | None:
        """Root processes whose trees do the work: none for a database in the target, ``None`` for a server elsewhere."""
        ...

    def dataset(self, rows: int) -> str:
        """Make the data of `iobound.dataset` with `rows` items where it isn't there yet; return the URL for targets."""
        ...

    def scratch(self, purpose: str) -> str:
        """Make an empty database of ours, in place of the last one for the same `purpose` (a word); return its URL for targets.

        It is dropped when the service is closed, and `clean` knows it. In a cache, targets keep to keys under ``iobound:``.
        """
        ...

    def empty_entries(self, url: str) -> None:
        """Remove all rows that targets inserted."""
        ...

    def count_entries(self, url: str) -> int:
        """Count the rows that targets inserted."""
        ...

    def counters(self, url: str) -> Counters | None:
        """Read the counts of the database of `url`, our own reads left out; ``None`` where it can't count."""
        ...

    def uncounted(self) -> AbstractContextManager[None]:
        """Do without counting statements for a while, where that costs something and the server is ours to tell."""
        ...

    def activity(self, url: str) -> Activity | None:
        """Look at the sessions of `url` now; ``None`` where it can't tell."""
        ...

    def close(self) -> None:
        """Drop what was created and stop what was started. Safe to call twice."""
        ...

    def __enter__(self) -> Service: ...

    def __exit__(self, *exception: object) -> None: ...


def median_us(ping: Callable[[], object]) -> float:
    """Return the median time of 20 calls of `ping`, in microseconds."""
    times = []
    for _ in range(20):
        before = time.perf_counter_ns()
        ping()
        times.append((time.perf_counter_ns() - before) / 1000)
    return statistics.median(times)


def known() -> list[str]:
    """Return the names of the services, one for each file in the folder."""
    return sorted(module.name for module in pkgutil.iter_modules(services.__path__))


def find(name: str) -> type[Service]:
    """Return the class of the service called `name`."""
    module = import_module(f"{services.__name__}.{name}")
    service: type[Service] = module.Service
    return service
