"""How sessions run: one file a concurrency model, each with a `Model`."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, Protocol

from iobound.race import sources
from iobound.race.wakeup import Wakeup
from iobound.records.race import Model as Name

Call = partial[Any]
"""A function with its arguments."""


@dataclass(frozen=True)
class Ended:
    """How a call ended: what it returned, or what it raised as one line, with all that its chain of causes says, and where."""

    returned: Any = None
    raised: str | None = None
    chain: str = ""
    source: str | None = None


class Model(Protocol):
    """Runs the calls of an exploration. All methods belong to the searching thread."""

    ended: dict[int, Ended]
    """The sessions of this execution that have ended."""

    def __init__(self, calls: Sequence[Call], wakeup: Wakeup) -> None: ...

    def reset(self) -> None:
        """Begin an execution: no session has ended."""
        ...

    def start(self, session: int) -> None:
        """Let a session begin its call."""
        ...

    def waits(self, session: int) -> bool:
        """Tell whether a session that was let run sleeps until another one wakes it: a lock, an event, a queue."""
        ...

    def moved(self, session: int) -> bool:
        """Tell whether a session that was last seen to wait has gone on since, if only to wait for something else."""
        ...

    def source(self, session: int) -> str | None:
        """Return FILE:LINE of the program where the session is now, ``None`` where that isn't known."""
        ...

    def in_driver(self, session: int) -> bool:
        """Tell whether a session that waits does so inside a database driver: for a connection that another one uses."""
        ...

    def close(self) -> None:
        """Stop what was started."""
        ...


def find(name: Name) -> type[Model]:
    """Return the model called `name`."""
    found: type[Model] = import_module(f"{__name__}.{name}").Model
    return found


def resolved(result: Any) -> Any:
    """Return what a call comes to: of a coroutine function what its coroutine returns, run in a loop of its own."""
    return asyncio.run(result) if isinstance(result, Coroutine) else result


def described(error: BaseException) -> Ended:
    """Return how a call ended that raised `error`."""
    seen: list[str] = []
    cause: BaseException | None = error
    while cause is not None and len(seen) < 20:
        seen.append(f"{type(cause).__name__} {getattr(cause, 'sqlite_errorname', '')} {cause!s} {cause.args!r}")
        cause = cause.__cause__ or cause.__context__
    line = " ".join(str(error).split())
    raised = f"{type(error).__name__}: {line}" if line else type(error).__name__
    return Ended(raised=raised, chain="\n".join(seen), source=sources.raised(error))
