"""The anomalies that an isolation level may admit, each as a short script of statements and what shows that it happened.

Names are those of Adya, Liskov and O'Neil (Generalized Isolation Level Definitions, ICDE 2000), with OTV and PMP from Bailis et
al. (Highly Available Transactions, VLDB 2014) and P4, lost update, from Berenson et al. (A Critique of ANSI SQL Isolation
Levels, SIGMOD 1995). "-write" means that the second access is a write. The table has the rows 1 => 10 and 2 => 20.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

TABLE = "probe"
ROWS = {1: 10, 2: 20}
COMMIT = "COMMIT"
ROLLBACK = "ROLLBACK"

Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Step:
    """One statement of one session."""

    session: int
    statement: str


@dataclass(frozen=True)
class Event:
    """A statement that came to its end: with rows (none where it returns none), or with the server's error code."""

    session: int
    statement: str
    rows: Rows
    error: str | None = None


@dataclass(frozen=True)
class History:
    """Events in the order in which they ended, and the rows of the table when all was over."""

    events: Sequence[Event]
    final: Mapping[int, int]

    def reads(self, session: int) -> list[Rows]:
        """Return what `session` read, a list of rows for each SELECT."""
        return [event.rows for event in self.events if event.session == session and event.statement.startswith("SELECT")]

    def committed(self, *sessions: int) -> bool:
        """Tell whether all `sessions` committed."""
        done = {event.session for event in self.events if event.statement == COMMIT and event.error is None}
        return done.issuperset(sessions)

    def until_commit_of(self, session: int) -> History:
        """Return the events before `session` committed."""
        ends = (number for number, event in enumerate(self.events) if (event.session, event.statement) == (session, COMMIT))
        return History(self.events[: next(ends, len(self.events))], self.final)

    def error(self) -> str | None:
        """Return the code of the first error."""
        return next((event.error for event in self.events if event.error is not None), None)


@dataclass(frozen=True)
class Anomaly:
    """A script, and what tells from its history that the anomaly happened."""

    name: str
    title: str
    steps: Sequence[Step]
    happened: Callable[[History], bool]

    def result(self, history: History) -> str:
        """Return ``observed``, the code of the error by which a session was ended, or ``prevented``."""
        return "observed" if self.happened(history) else history.error() or "prevented"


def put(session: int, key: int, value: int) -> Step:
    """Write one row."""
    return Step(session, f"UPDATE {TABLE} SET value = {value} WHERE id = {key}")


def get(session: int, key: int) -> Step:
    """Read one row."""
    return Step(session, f"SELECT id, value FROM {TABLE} WHERE id = {key}")


def find(session: int, condition: str) -> Step:
    """Read the rows for which `condition` holds."""
    return Step(session, f"SELECT id, value FROM {TABLE} WHERE {condition}")


def add(session: int, key: int, value: int) -> Step:
    """Insert a row."""
    return Step(session, f"INSERT INTO {TABLE} (id, value) VALUES ({key}, {value})")


def remove(session: int, condition: str) -> Step:
    """Delete the rows for which `condition` holds."""
    return Step(session, f"DELETE FROM {TABLE} WHERE {condition}")


def increase(session: int, amount: int) -> Step:
    """Write all rows."""
    return Step(session, f"UPDATE {TABLE} SET value = value + {amount}")


def commit(session: int) -> Step:
    """End a transaction well."""
    return Step(session, COMMIT)


def rollback(session: int) -> Step:
    """End a transaction without effect."""
    return Step(session, ROLLBACK)


def _saw(history: History, session: int, *rows: tuple[int, int]) -> bool:
    return any(row in seen for seen in history.reads(session) for row in rows)


def _deleted_what_it_had_not_read(history: History) -> bool:
    """Tell whether session 2 deleted other rows than it had read, or had read what wasn't committed."""
    if not history.committed(1, 2):
        return False
    read = {key for key, _ in history.reads(2)[0]}
    return read != ROWS.keys() - history.final.keys() or _saw(history.until_commit_of(1), 2, (1, 20))


ANOMALIES = (
    Anomaly(
        "G0",
        "dirty write",
        [put(1, 1, 11), put(2, 1, 12), put(1, 2, 21), commit(1), put(2, 2, 22), commit(2)],
        lambda history: (history.final[1], history.final[2]) in ((11, 22), (12, 21)),
    ),
    Anomaly(
        "G1a",
        "aborted read",
        [put(1, 1, 101), get(2, 1), rollback(1), get(2, 1), commit(2)],
        lambda history: _saw(history, 2, (1, 101)),
    ),
    Anomaly(
        "G1b",
        "intermediate read",
        [put(1, 1, 101), get(2, 1), put(1, 1, 11), commit(1), get(2, 1), commit(2)],
        lambda history: _saw(history, 2, (1, 101)),
    ),
    Anomaly(
        "G1c",
        "circular information flow",
        [put(1, 1, 11), put(2, 2, 22), get(1, 2), get(2, 1), commit(1), commit(2)],
        lambda history: _saw(history, 1, (2, 22)) and _saw(history, 2, (1, 11)),
    ),
    Anomaly(
        "OTV",
        "observed transaction vanishes",
        [
            *(put(1, 1, 11), put(1, 2, 19), put(2, 1, 12), commit(1), get(3, 1)),
            *(put(2, 2, 18), get(3, 2), commit(2), get(3, 2), get(3, 1), commit(3)),
        ],
        lambda history: _saw(history.until_commit_of(2), 3, (1, 12), (2, 18)),
    ),
    Anomaly(
        "PMP",
        "predicate-many-preceders",
        [find(1, "value = 30"), add(2, 3, 30), commit(2), find(1, "value % 3 = 0"), commit(1)],
        lambda history: history.committed(1, 2) and history.reads(1)[0] == [] and _saw(history, 1, (3, 30)),
    ),
    Anomaly(
        "PMP-write",
        "the same by a write",
        [increase(1, 10), find(2, "value = 20"), remove(2, "value = 20"), commit(1), commit(2)],
        _deleted_what_it_had_not_read,
    ),
    Anomaly(
        "P4",
        "lost update",
        [get(1, 1), get(2, 1), put(1, 1, 11), put(2, 1, 12), commit(1), commit(2)],
        lambda history: history.committed(1, 2) and _saw(history, 1, (1, 10)) and _saw(history, 2, (1, 10)),
    ),
    Anomaly(
        "G-single",
        "read skew",
        [get(1, 1), get(2, 1), get(2, 2), put(2, 1, 12), put(2, 2, 18), commit(2), get(1, 2), commit(1)],
        lambda history: _saw(history, 1, (1, 10)) and _saw(history, 1, (2, 18)),
    ),
    Anomaly(
        "G-single-write",
        "the same by a write",
        [get(1, 1), find(2, "id > 0"), put(2, 1, 12), put(2, 2, 18), commit(2), remove(1, "value = 20"), commit(1)],
        lambda history: history.committed(1, 2) and _saw(history, 1, (1, 10)) and 2 in history.final,
    ),
    Anomaly(
        "G2-item",
        "write skew",
        [find(1, "id > 0"), find(2, "id > 0"), put(1, 1, 11), put(2, 2, 21), commit(1), commit(2)],
        lambda history: history.committed(1, 2) and ROWS.items() <= set(history.reads(1)[0]) & set(history.reads(2)[0]),
    ),
    Anomaly(
        "G2",
        "anti-dependency cycle",
        [find(1, "value % 3 = 0"), find(2, "value % 3 = 0"), add(1, 3, 30), add(2, 4, 42), commit(1), commit(2)],
        lambda history: history.committed(1, 2) and history.reads(1)[0] == history.reads(2)[0] == [],
    ),
)
