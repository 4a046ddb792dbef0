"""What the search needs of a database, one file a database: connections, isolation, reset, state, the class of an error."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from iobound.race.locks import Observer
from iobound.race.wire import Conversation, Request, Startup
from iobound.records.race import FailureKind, State

ROWS_OF_STATE = 10_000


@dataclass
class Upstream:
    """An open session on the server, over which a client's bytes are sent."""

    socket: socket.socket
    backend: int
    facts: dict[str, str]
    close: Callable[[], None]


class Handle(Protocol):
    """What setups and invariants are called with: a connection of its own, each statement committed by itself."""

    def execute(self, sql: str, *parameters: Any) -> None:
        """Execute a statement; without parameters also several, separated by semicolons."""
        ...

    def rows(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        ...

    def scalar(self, sql: str, *parameters: Any) -> Any:
        """Return the first column of the first row, ``None`` where there is no row."""
        ...


class Database(Handle, Protocol):
    """A database that is explored, over one direct connection."""

    name: str
    url: str
    version: str
    isolations: Sequence[str]

    def isolation(self) -> str:
        """Return the level of sessions that ask for none."""
        ...

    def failure(self, code: str, message: str) -> FailureKind:
        """Return the class of an error."""
        ...

    def state(self) -> State:
        """Read all tables."""
        ...

    def generated(self) -> dict[str, set[str]]:
        """Return the columns of each table whose values the database counts up itself."""
        ...

    def keep(self) -> None:
        """Take a copy of all tables, to which `restore` returns."""
        ...

    def restore(self) -> None:
        """Truncate all tables and fill them from the copy."""
        ...

    def hasten(self) -> None:
        """On a server of ours, give up what only costs time."""
        ...

    def empty(self) -> None:
        """Truncate all tables: rows that are only deleted still hold InnoDB's gap locks apart."""
        ...

    def close(self) -> None:
        """End the direct connections."""
        ...


class Server(Database, Protocol):
    """A database behind a socket."""

    @property
    def deadlock_s(self) -> float:
        """How long after a wait has begun the server looks for a deadlock, whose victim is then who looked; 0 for at once."""
        ...

    def settings(self, host: str, port: int) -> dict[str, str]:
        """Return the environment in which a program finds this database at another address."""
        ...

    def conversation(self) -> Conversation:
        """Return a new conversation in the server's protocol."""
        ...

    def connect(self, startup: Startup, isolation: str | None) -> Upstream:
        """Open a session as `startup` asks for, at an isolation level. Raises `LabError`."""
        ...

    def isolate(self, conversation: Conversation, isolation: str | None) -> Request:
        """Return the request that changes the level of a session."""
        ...

    def renewal(self, conversation: Conversation, isolation: str | None) -> list[Request]:
        """Return the requests that make a used session like a new one."""
        ...

    def observe(self) -> Observer:
        """Return an observer of lock waits; raises `LabError` where they are hidden."""
        ...

    def end(self, backend: int) -> None:
        """End a session whatever it is doing."""
        ...


def scalar(rows: list[tuple[Any, ...]]) -> Any:
    """Return the first column of the first row."""
    return rows[0][0] if rows else None
