"""A statement that is held until the search lets it go: what a proxy or a patched driver shows of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from iobound.errors import IoboundError
from iobound.race.wire import Answer
from iobound.records.race import StepKind


class Held(Protocol):
    """A statement of some session on its way to the database."""

    sql: str
    kind: StepKind
    parameters: list[str | None]
    connection: object
    """What it was sent on: the same object for all statements of one connection."""

    @property
    def inside(self) -> bool:
        """Whether its connection is in a transaction already."""
        ...

    @property
    def answer(self) -> Answer | None:
        """What the database answered; ``None`` while it has not."""
        ...

    def release(self) -> None:
        """Send it to the database."""
        ...

    def deliver(self) -> None:
        """Pass the answer on to the program, which goes on."""
        ...


class Gate(Protocol):
    """Where statements are held. All methods belong to the searching thread."""

    refused: list[IoboundError]
    """Why connections could not be opened."""
    shared: list[object]
    """Connections on which a statement came while another one wasn't answered yet, in a protocol without pipelines."""
    sets_isolation: bool
    """Whether the program has set an isolation level itself."""

    deadlock_s: float
    """How long after a wait has begun the database looks for a deadlock, whose victim is then who looked; 0 for at once."""

    rewrite: Callable[[str], str]
    """What is sent instead of each statement."""

    def arrivals(self) -> list[Held]:
        """Return the statements that have come since the last call."""
        ...

    def opened(self) -> list[object]:
        """Return the connections that were opened since the last call."""
        ...

    def busy(self) -> bool:
        """Tell whether something goes on that no step covers, such as the end of a connection."""
        ...

    def waiting(self, held: list[Held]) -> dict[int, list[object]]:
        """Return which of the statements sent wait for a lock now, by their place in `held`, with the connections they wait
        for."""
        ...

    def expire(self) -> bool:
        """Nobody moves any more: let the wait of one end as by its time-out; ``False`` where the server does that."""
        ...

    def open(self, through: bool) -> None:
        """Let everything through from now on, or hold it again."""
        ...

    def isolate(self, isolation: str | None) -> None:
        """Set the default isolation level of sessions."""
        ...

    def left_open(self) -> list[object]:
        """Return the connections on which the program has a transaction."""
        ...

    def settle(self, connections: Sequence[object]) -> None:
        """End the transactions that are open on some connections."""
        ...

    def abandon(self) -> None:
        """End all connections, so that whoever waits for an answer gets an error."""
        ...


def unchanged(sql: str) -> str:
    """Return `sql`."""
    return sql
