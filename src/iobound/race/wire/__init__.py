"""Database protocols apart from I/O: bytes in, requests and answers out. One file a protocol, each with a `Conversation`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

ROWS_KEPT = 50


@dataclass
class Answer:
    """What the server answered to one request: the first rows as text, rows changed, or (code, message) of an error."""

    columns: list[str] = field(default_factory=list)
    rows: list[list[str | None]] = field(default_factory=list)
    affected: int | None = None
    error: tuple[str, str] | None = None


@dataclass(eq=False)
class Request:
    """What a client sent up to where it waits: forwarded as a whole. `sql` is ``None`` where nothing is executed."""

    data: bytes
    sql: str | None = None
    parameters: list[str | None] = field(default_factory=list)
    answer: Answer = field(default_factory=Answer)
    done: bool = False
    streams: bool = False
    """The server asked the client for data: both must be let through before the answer is complete."""


@dataclass(frozen=True)
class Refused:
    """A question to which `answer` says no, such as for TLS."""

    answer: bytes


@dataclass(frozen=True)
class Startup:
    """A client introduces itself. Connections with equal `key` are interchangeable."""

    user: str
    database: str
    key: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Cancel:
    """A client asks, on a connection of its own, to cancel what the session `backend` does."""

    backend: int


@dataclass(frozen=True)
class Stream:
    """Bytes that belong to a request which is being carried out."""

    data: bytes


@dataclass(frozen=True)
class Goodbye:
    """The client ends the connection."""


ClientEvent = Request | Refused | Startup | Cancel | Stream | Goodbye


Rewrite = Callable[[str], str]


class Conversation(Protocol):
    """One client's connection. Requests that are sent on must be told by `sent`, so that answers find them."""

    in_transaction: bool
    failed: bool
    """Whether the transaction has failed already, so that to end it changes nothing for others."""
    pipelines: ClassVar[bool]
    """Whether a client may send a request before the last one is answered."""

    def hello(self, backend: int) -> bytes:
        """Return what the server says before the client does."""
        ...

    def from_client(self, data: bytes, rewrite: Rewrite = str) -> list[ClientEvent]:
        """Return what `data` completes, each statement as `rewrite` has it."""
        ...

    def welcome(self, backend: int, facts: dict[str, str]) -> bytes:
        """Return the answer to a `Startup`: the session is open."""
        ...

    def sent(self, request: Request) -> None:
        """Expect the answer to `request`, after those to all earlier ones."""
        ...

    @property
    def waiting(self) -> bool:
        """Whether an answer is still to come."""
        ...

    def from_server(self, data: bytes) -> list[tuple[bytes, Request | None]]:
        """Split `data` into the answers it belongs to; ``None`` for what the server says unasked."""
        ...

    def failure(self, message: str) -> bytes:
        """Return an answer that ends the connection with an error."""
        ...

    def query(self, sql: str) -> Request:
        """Return a request of our own."""
        ...
