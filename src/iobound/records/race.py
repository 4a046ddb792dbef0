"""What `iobound race` finds: steps, executions, verdicts, and the file that replays a schedule.

A session is one call of the user's function, numbered from 0; messages call them A, B, C. Values are what the database sent,
as text.

Schema history
    1  the first one
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Literal

from iobound.records.base import Interval, Record

SCHEMA = 1

StepKind = Literal["begin", "statement", "savepoint", "commit", "rollback"]
FailureKind = Literal["serialization-failure", "deadlock", "lock-timeout", "snapshot-conflict", "constraint-violation", "error"]
Ending = Literal[
    "committed",
    "serialization-failure",
    "deadlock",
    "lock-timeout",
    "snapshot-conflict",
    "constraint-violation",
    "error",
    "endless",
]
Verdict = Literal["holds", "violated", "incomplete", "unsupported"]
Model = Literal["threads", "gevent", "asyncio", "processes"]
State = dict[str, list[list[str | None]]]
"""The rows of every table, sorted, by the table's name."""

ABORTS: frozenset[str] = frozenset({"serialization-failure", "deadlock", "lock-timeout", "snapshot-conflict"})
"""Failures by which a database refuses a schedule instead of letting it go wrong."""


class SqlFailure(Record, frozen=True):
    """An error that the database answered: its class, its SQLSTATE or number, its message."""

    kind: FailureKind
    code: str
    message: str


class Step(Record, frozen=True):
    """One statement of one session, in the order in which they were sent to the database.

    `index` counts the steps of its session, `connection` the connections of the execution as they were first used. `blocked_by`
    names the sessions that it had to wait for; it is empty too where the server didn't say for whom, which `blocked` tells.
    `answered` is the number of steps that had been sent when the answer came: the step's own place plus one, or more where
    it was blocked; ``None`` where no answer came.
    """

    session: int
    index: int
    kind: StepKind
    sql: str
    connection: int
    parameters: list[str | None] = []
    source: str | None = None
    columns: list[str] = []
    rows: list[list[str | None]] = []
    affected: int | None = None
    failure: SqlFailure | None = None
    blocked: bool = False
    blocked_by: list[int] = []
    answered: int | None = None


class Outcome(Record, frozen=True):
    """How one session ended. `returned` is what the function returned, as JSON has it, else its ``repr``.

    `ending` tells how the call ended, not each statement: an error that the function caught is in its step, and counts in
    `retries` where the function began anew after an abort. `exception` is what it raised: type and message.
    """

    session: int
    ending: Ending
    returned: Any = None
    exception: str | None = None
    retries: int = 0


class Execution(Record, frozen=True):
    """One schedule, carried out: `schedule` are the sessions in the order in which they were given the next step.

    They were begun in `order`, which matters where one then waits in Python for another one. `state` is read only where
    something needs it. `faults` are wrong whatever the invariant says: a transaction left open, a connection that two
    sessions use at once. `notes` say what else went on.
    """

    schedule: list[int]
    steps: list[Step]
    outcomes: list[Outcome]
    order: list[int] = []
    state: State | None = None
    faults: list[str] = []
    notes: list[str] = []


class Violation(Record, frozen=True):
    """An execution that broke the invariant: why, and Adya's name of the anomaly where it is known.

    `stale` is the place of a read that the session relied on although it no longer was true.
    """

    execution: Execution
    reason: str
    anomaly: str | None = None
    stale: int | None = None


class Level(Record, frozen=True):
    """What was found at one isolation level; ``None`` is the database's own default.

    `schedules` were carried out, `violations` of them broke the invariant; `exhaustive` says that no other schedule exists,
    `reduced` that schedules were left out which can't differ from one that was carried out. `outcomes` counts sessions by how
    they ended. `example` is the violation with the fewest preemptions. `reason` says why there is no verdict.
    """

    isolation: str | None
    verdict: Verdict
    schedules: int
    exhaustive: bool
    violations: int
    anomaly: str | None = None
    reduced: bool = False
    example: Violation | None = None
    outcomes: dict[str, int] = {}
    violating: list[list[int]] = []
    reason: str | None = None
    notes: list[str] = []
    seconds: float = 0.0


class Subject(Record, frozen=True):
    """What was explored: the function, as FILE:NAME, the calls that run at once, and where.

    `setup` are the statements that the set-up executed.
    """

    function: str
    calls: list[str]
    model: Model
    database: str
    server: str
    setup: list[str] = []


class Report(Record, frozen=True):
    """All levels of one exploration; `verdict` is the worst of theirs."""

    subject: Subject
    verdict: Verdict
    levels: list[Level]


class Replay(Record, frozen=True):
    """A schedule to carry out again: of what, at which level, and what every step is expected to be.

    `case` finds the function and what belongs to it; `steps` are (session, kind, SQL), so that a schedule which the code no
    longer follows is told from one that no longer fails. Nothing in it depends on the version of Python.
    """

    schema: int
    case: str
    model: Model
    database: str
    isolation: str | None
    schedule: list[int]
    steps: list[tuple[int, StepKind, str]]
    reason: str
    order: list[int] = []
    anomaly: str | None = None


def endings(executions: Iterable[Execution]) -> dict[str, int]:
    """Count the calls by how they ended."""
    return dict(Counter(outcome.ending for execution in executions for outcome in execution.outcomes))


class Fix(Record, frozen=True):
    """A change that was tried, and what came of it.

    `refused` is the database's answer where it doesn't take the rewritten statement; there is no verdict then. `throughput` is
    that of calls which ended well, over that of the unchanged code; `retries` are those for each such call, for a call that was
    aborted is begun anew, which the code must do itself. Both are ``None`` where the change doesn't hold.
    """

    change: str
    verdict: Verdict | None
    schedules: int = 0
    violations: int = 0
    outcomes: dict[str, int] = {}
    refused: str | None = None
    throughput: Interval | None = None
    retries: float | None = None


class Fixes(Record, frozen=True):
    """What was tried at one level: the unchanged code, the changes, the smallest first, and what is only suggested."""

    subject: Subject
    isolation: str | None
    before: Level
    fixes: list[Fix]
    suggestions: list[str]


def letter(session: int) -> str:
    """Return the name of a session in messages: A, B, …, Z, S26, …"""
    return chr(ord("A") + session) if session < 26 else f"S{session}"
