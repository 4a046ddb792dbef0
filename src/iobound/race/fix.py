"""The smallest changes that make a function hold, tried on the wire: the code stays, its statements are sent rewritten.

Each change is explored like the function itself, so that what is said to hold holds in every schedule. What it costs is
measured by letting the sessions run at once, unscheduled, the changes in turn and all through the proxy. What needs other
Python code is only suggested.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import msgspec

from iobound.analysis import statistics
from iobound.race.cases import Case
from iobound.race.explorer import MAX_SCHEDULES, Exploration
from iobound.race.search import Pending
from iobound.race.statements import shape, words
from iobound.records.base import Interval
from iobound.records.race import ABORTS, Execution, Fix, Fixes, Level

LEVELS = ("read uncommitted", "read committed", "repeatable read", "serializable")
DEFAULTS = {"postgresql": "read committed", "mariadb": "repeatable read", "mysql": "repeatable read"}
LOCKS = {("for", "update"), ("for", "share"), ("for", "no"), ("for", "key"), ("lock", "in")}
LOCK = "\nFOR UPDATE"  # on a line of its own, in case of a comment before it
ROUNDS = 30
TRIES = 20
"""How often a call that raises is begun anew while the cost is measured."""

Rewrite = Callable[[str], str]
Shape = tuple[str, ...]
Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class _Change:
    """Statements rewritten by `rewrite`, or another default level; `appends` is what rewritten ones end with."""

    what: str
    rewrite: Rewrite
    isolation: str | None
    appends: str = ""


def find(
    case: Case,
    *,
    max_schedules: int = MAX_SCHEDULES,
    yes_database: str | None = None,
    progress: Progress = lambda what, share: None,
) -> Fixes:
    """Try changes to `case` at the first of its isolation levels that is violated; where none is, there is nothing to try."""
    with Exploration(case, yes_database=yes_database) as exploration:
        before = _first_violated(exploration, case, max_schedules, progress)
        isolation = before.isolation
        changes = list(_changes(exploration, isolation, before.example.execution)) if before.example else []
        tried = []
        for at, change in enumerate(changes):
            progress(change.what, at / len(changes))
            tried.append((change, _explored(exploration, change, max_schedules)))
        holding = [change for change, fix in tried if fix.verdict == "holds"]
        progress("what it costs", 1.0)
        costs = _costs(exploration, _Change("unchanged", str, isolation), holding)
        fixes = [_with_cost(fix, costs.get(change.what)) for change, fix in tried]
        return Fixes(
            subject=exploration.subject,
            isolation=isolation,
            before=before,
            fixes=fixes,
            suggestions=list(_suggestions(before, fixes)),
        )


def _first_violated(exploration: Exploration, case: Case, max_schedules: int, progress: Progress) -> Level:
    """Return the first level that is violated, the last one where none is."""
    levels: Sequence[str | None] = case.isolation or [None]
    for isolation in levels:
        level = exploration.level(isolation, max_schedules, progress)
        if level.example:
            break
    return level


# --- changes ----------------------------------------------------------------------------------------------------------


def _changes(exploration: Exploration, isolation: str | None, example: Execution) -> Iterator[_Change]:
    """Return the changes to try: locks of one read, then of all, then higher levels; on SQLite the beginning."""
    database = exploration.subject.server.split()[0].lower()
    if database == "sqlite":
        yield _Change("BEGIN IMMEDIATE", _immediately, isolation)
        return
    reads: dict[Shape, str] = {}
    for step in example.steps:
        if step.kind == "statement" and _reads(step.sql):
            reads.setdefault(shape(step.sql), step.sql)
    for read, sql in reads.items():
        yield _Change(f"FOR UPDATE after {_short(sql)}", _locking({read}), isolation, LOCK)
    if len(reads) > 1:
        yield _Change("FOR UPDATE after every SELECT", _locking(set(reads)), isolation, LOCK)
    weaker = isolation or DEFAULTS[database]
    for level in LEVELS[LEVELS.index(weaker) + 1 :]:
        if level in exploration.isolations:
            yield _Change(f"isolation level {level.upper()}", str, level)


def _reads(sql: str) -> bool:
    """Tell whether `sql` reads from a table without locking what it reads."""
    lower = [word.lower() for word in words(sql)]
    locks = not LOCKS.isdisjoint(pairwise(lower))
    return lower[:1] == ["select"] and "from" in lower and not locks


def _short(sql: str) -> str:
    text = " ".join(sql.split())
    return text if len(text) <= 60 else f"{text[:60]}…"


def _locking(targets: set[Shape]) -> Rewrite:
    """Append FOR UPDATE to statements that differ from the `targets` in constants only."""

    def rewrite(sql: str) -> str:
        return sql.rstrip().rstrip(";") + LOCK if shape(sql) in targets else sql

    return rewrite


def _immediately(sql: str) -> str:
    lower = [word.lower() for word in words(sql)]
    return "BEGIN IMMEDIATE" if lower in (["begin"], ["begin", "deferred"], ["begin", "transaction"]) else sql


# --- trying -----------------------------------------------------------------------------------------------------------


def _apply(exploration: Exploration, change: _Change) -> None:
    exploration.rewrite(change.rewrite)
    exploration.isolate(change.isolation)


def _explored(exploration: Exploration, change: _Change, max_schedules: int) -> Fix:
    _apply(exploration, change)
    refused = _refusal(exploration.execute(_first), change) if change.appends else None
    if refused:
        return Fix(change=change.what, verdict=None, refused=refused)
    level = exploration.level(change.isolation, max_schedules, lambda what, share: None)
    return Fix(
        change=change.what,
        verdict=level.verdict,
        schedules=level.schedules,
        violations=level.violations,
        outcomes=level.outcomes,
    )


def _first(pending: Pending) -> int:
    return next(iter(pending))


def _refusal(execution: Execution, change: _Change) -> str | None:
    """Return why a rewritten statement isn't carried out."""
    rewritten = [step for step in execution.steps if step.sql.endswith(change.appends)]
    if not rewritten:
        return "it was prepared before it could be rewritten"
    failures = (step.failure for step in rewritten if step.failure)
    return next((failure.message for failure in failures if failure.kind == "error"), None)


def _costs(
    exploration: Exploration, unchanged: _Change, changes: Sequence[_Change]
) -> dict[str, tuple[Interval | None, float]]:
    """Let the unchanged code and each change run in turn; return throughput over the unchanged code's, and retries a call."""
    contenders = [unchanged, *changes] if changes else []
    rates: dict[str, dict[int, float]] = {change.what: {} for change in contenders}
    retries = dict.fromkeys(rates, 0)
    calls = dict.fromkeys(rates, 0)
    for number in range(-1, ROUNDS):  # the first round opens connections and isn't counted
        for change in random.sample(contenders, len(contenders)):
            _apply(exploration, change)
            well, anew, seconds = exploration.at_will(TRIES)
            if number >= 0 and well:
                rates[change.what][number] = well / seconds
                retries[change.what] += anew
                calls[change.what] += well
    found: dict[str, tuple[Interval | None, float]] = {}
    for change in changes:
        pair = statistics.paired(rates[change.what], rates[unchanged.what])
        if pair and calls[change.what]:
            found[change.what] = pair.interval(), retries[change.what] / calls[change.what]
    return found


def _with_cost(fix: Fix, cost: tuple[Interval | None, float] | None) -> Fix:
    if cost is None:
        return fix
    return msgspec.structs.replace(fix, throughput=cost[0], retries=cost[1])


# --- suggestions ------------------------------------------------------------------------------------------------------


def _suggestions(before: Level, fixes: Sequence[Fix]) -> Iterator[str]:
    """Say what only other code can do, from what the example shows."""
    steps = before.example.execution.steps if before.example else []
    if not steps:
        return
    sessions = {step.session for step in steps}
    verbs = {(step.session, words(step.sql)[0].lower()) for step in steps if step.kind == "statement"}
    aborting = [fix for fix in fixes if fix.verdict == "holds" and ABORTS & fix.outcomes.keys()]
    if not any(step.kind == "begin" for step in steps):
        yield "read and write in one transaction: here each statement commits by itself, so that no lock outlasts it"
    if all((session, "insert") in verbs and (session, "update") not in verbs for session in sessions):
        yield "a unique constraint on what must be there once, with INSERT … ON CONFLICT or ON DUPLICATE KEY"
    if (before.anomaly or "").startswith("G2"):
        yield "lock the rows that the condition is about (SELECT … FOR UPDATE without count), or one that stands for them all"
    elif any((session, "update") in verbs for session in sessions):
        yield "one UPDATE that checks and changes, as in SET n = n - 1 WHERE n > 0, and a look at how many rows it changed"
    if "deadlock" in before.outcomes or any("deadlock" in fix.outcomes for fix in fixes):
        yield "lock rows in one order everywhere: SELECT … ORDER BY the key FOR UPDATE before the first write"
    for fix in aborting[:1]:
        kinds = " or ".join(sorted(ABORTS & fix.outcomes.keys()))
        yield f"{fix.change} holds since it aborts calls: after a {kinds} begin the transaction anew, from its first read"
