"""Opens what is explored: a URL, or a private service; with the gate that holds its statements."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import cache
from urllib.parse import urlsplit

from iobound.errors import IoboundError, UsageError, nearest
from iobound.lab import service
from iobound.lab.processes import LOOPBACK
from iobound.lab.service import Service, ServiceOptions
from iobound.race.databases import Database, Server
from iobound.race.gate import Gate
from iobound.race.proxy import Proxy
from iobound.race.pymysql_tls import loaded_once
from iobound.race.wakeup import Wakeup

SCHEMES = {"postgresql": "postgresql", "postgres": "postgresql", "mysql": "mariadb", "mariadb": "mariadb", "sqlite": "sqlite"}
DEFAULT = "postgresql"
PURPOSE = "race"


@dataclass
class Opened:
    """A database with its gate; `ours` where nobody else has data in it. `settings` is the environment of the function."""

    database: Database
    gate: Gate
    settings: dict[str, str]
    ours: bool

    def isolate(self, isolation: str | None) -> None:
        """Set the default isolation level of sessions."""
        self.gate.isolate(isolation)

    def refused(self) -> list[IoboundError]:
        """Return why connections of the function were refused."""
        return self.gate.refused


@cache
def _private(name: str) -> Service:
    """Start a service that is used until this process ends; its guard then stops it."""
    return service.find(name).start(ServiceOptions())


def kind(wanted: str | None) -> str:
    """Return which database is called or at `wanted`; raises `UsageError`."""
    named = wanted or DEFAULT
    scheme = urlsplit(named).scheme.partition("+")[0] if "://" in named else named
    if scheme not in SCHEMES:
        raise UsageError(nearest(scheme, sorted(SCHEMES), "database"))
    return SCHEMES[scheme]


@contextmanager
def open_database(wanted: str | None, wakeup: Wakeup) -> Iterator[Opened]:
    """Open the database called or at `wanted`; raises `UsageError` or `LabError`."""
    named = wanted or DEFAULT
    ours = "://" not in named
    service_name = kind(wanted)
    url = _private(service_name).scratch(PURPOSE) if ours else named
    with ExitStack() as exits:
        if service_name == "sqlite":
            from iobound.race.databases.sqlite import Database as Sqlite
            from iobound.race.sqlite import Patched

            file = exits.enter_context(closing(Sqlite(url)))
            if ours:
                file.hasten()
            patched = exits.enter_context(Patched(file, wakeup))
            yield Opened(file, patched, {"DATABASE_URL": url}, ours)
            return
        server: Server
        if service_name == "postgresql":
            from iobound.race.databases.postgresql import Database as Postgresql

            server = Postgresql(url)
        else:
            from iobound.race.databases.mariadb import Database as Mariadb

            exits.enter_context(loaded_once())
            server = Mariadb(url)
        exits.enter_context(closing(server))
        if ours:
            server.hasten()
        proxy = exits.enter_context(Proxy(server, wakeup))
        yield Opened(server, proxy, server.settings(LOOPBACK, proxy.port), ours)
