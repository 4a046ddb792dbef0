"""The state that every schedule begins with: the user's set-up, run for each one, or its result copied back if that's the same.

On a database of ours tables are truncated before each set-up, for rows that were only deleted still hide InnoDB's gap locks.
Where the set-up is SQL text, or a function that only executes statements through `db`, its result is copied once and written
back in one go; the function still runs each time, for what it does besides, its statements compared instead of sent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from iobound.errors import UsageError
from iobound.race.cases import Setup
from iobound.race.databases import Database
from iobound.race.judging import takes
from iobound.records.race import State

Statement = tuple[str, tuple[Any, ...]]
Aside = Callable[[Callable[[], Any]], Any]
"""Runs a function beside the search, statements of its own connections let through."""


class _Recorder:
    """Stands in for the database and writes down what is executed; `sends` says whether it is."""

    def __init__(self, database: Database, *, sends: bool) -> None:
        self._database = database
        self._sends = sends
        self.statements: list[Statement] = []
        self.asked = False

    def execute(self, sql: str, *parameters: Any) -> None:
        """Write the statement down."""
        self.statements.append((sql, parameters))
        if self._sends:
            self._database.execute(sql, *parameters)

    def rows(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Pass the query on, and note that the set-up looks at the database."""
        self.asked = True
        return self._database.rows(sql, *parameters)

    def scalar(self, sql: str, *parameters: Any) -> Any:
        """Pass the query on."""
        self.asked = True
        return self._database.scalar(sql, *parameters)


class Reset:
    """Brings the database into the state that schedules begin with. Raises `UsageError` where the set-up is no good."""

    def __init__(self, setup: Setup, database: Database, aside: Aside, *, ours: bool) -> None:
        self._setup = setup
        self._database = database
        self._aside = aside
        self._ours = ours
        self._statements: list[Statement] | None = None
        first = self._prepare()
        self.executed = [sql for sql, _ in first.statements]
        self.beginning = database.state()
        second = self._prepare()
        self._compare("run twice", database.state())
        if ours and first.statements and first.statements == second.statements and not first.asked:
            database.keep()
            self._statements = second.statements
            self._copy_or_not()

    def again(self) -> None:
        """Bring the state back."""
        if self._statements is None:
            self._prepare()
        elif isinstance(self._setup, str):
            self._database.restore()
        else:
            recorder = _Recorder(self._database, sends=False)
            self._call(recorder)
            if recorder.statements == self._statements and not recorder.asked:
                self._database.restore()
            else:
                self._prepare()

    def check(self) -> None:
        """Run the set-up after a schedule; raises `UsageError` where the state isn't what it was before."""
        self._copy_or_not()
        self._prepare()
        self._compare("run again after a schedule", self._database.state())

    def _copy_or_not(self) -> None:
        """Write nothing back where that comes to another state, as triggers or the program's own DDL may have it."""
        if self._statements is None:
            return
        try:
            self._database.restore()
            same = self._database.state() == self.beginning
        except Exception:  # of any driver
            same = False
        if not same:
            self._statements = None

    def _prepare(self) -> _Recorder:
        if self._ours:
            self._database.empty()
        recorder = _Recorder(self._database, sends=True)
        self._call(recorder)
        return recorder

    def _call(self, recorder: _Recorder) -> None:
        setup = self._setup
        if isinstance(setup, str):
            run: Callable[[], Any] = lambda: recorder.execute(setup)  # noqa: E731
        else:
            run = lambda: setup(*(recorder,)[: takes(setup)])  # noqa: E731
        try:
            self._aside(run)
        except Exception as error:
            raise UsageError(f"the setup fails: {type(error).__name__}: {error}") from error

    def _compare(self, when: str, state: State) -> None:
        differences = list(_differences(self.beginning, state))
        if differences:
            raise UsageError(
                f"the setup, {when}, doesn't give the same state: {'; '.join(differences[:3])}; "
                "let it begin with TRUNCATE or DROP of what it fills"
            )


def _differences(first: State, second: State) -> list[str]:
    found = []
    for table in sorted(first.keys() | second.keys()):
        before, after = first.get(table), second.get(table)
        if before is None or after is None:
            found.append(f"table {table} is there only {'the second' if before is None else 'the first'} time")
        elif before != after:
            lost = [row for row in before if row not in after]
            new = [row for row in after if row not in before]
            if not lost and not new:
                new = [row for row in after if after.count(row) > before.count(row)]
            found.append(
                f"{table} has {_count(before)} and then {_count(after)}: {_shown('-', lost)}{_shown('+', new)}".rstrip(": ")
            )
    return found


def _count(rows: list[list[str | None]]) -> str:
    return f"{len(rows) - 1} row{'s' * (len(rows) != 2)}"


def _shown(sign: str, rows: list[list[str | None]]) -> str:
    return "".join(f"{sign}({', '.join('NULL' if value is None else value for value in row)}) " for row in rows[:2])
