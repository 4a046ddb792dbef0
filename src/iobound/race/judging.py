"""Whether an execution went right: by the user's invariant, or by what some serial order of the same calls comes to."""

from __future__ import annotations

import dis
import inspect
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from iobound.errors import UsageError
from iobound.race.databases import Handle
from iobound.records.race import ABORTS, Execution, Outcome, State, letter

Outcomes = tuple[tuple[str, ...], tuple[tuple[str, tuple[tuple[Any, ...], ...]], ...]]


class Invariant:
    """A condition on the database after an execution, called with `db`, and with the execution where it takes two arguments."""

    def __init__(self, condition: Callable[..., Any], db: Handle) -> None:
        self._condition = condition
        self._db = db
        self._takes = takes(condition)

    def broken(self, execution: Execution) -> str | None:
        """Return how it is broken, ``None`` where it holds; an assertion says it in its own words.

        Raises `UsageError` where it can't be evaluated.
        """
        name = getattr(self._condition, "__name__", "invariant")
        try:
            value = self._condition(*(self._db, execution)[: self._takes])
        except AssertionError as error:
            return str(error) or f"{name} fails an assertion"
        except Exception as error:
            raise UsageError(f"the invariant can't be evaluated: {type(error).__name__}: {error}") from error
        if value is None and not _asserts(self._condition):
            raise UsageError("the invariant returned None, as a query does for NULL; return whether it holds, or use assert")
        return None if value or value is None else "the invariant doesn't hold"


class Serial:
    """Without an invariant: final state and returned values must be those of some serial order of the calls.

    Calls that the database aborted may be left out of that order. Generated keys aren't compared, nor columns that differ when
    the same order runs twice.
    """

    def __init__(self, sessions: int, run: Callable[[Sequence[int]], Execution], generated: dict[str, set[str]]) -> None:
        self._sessions = sessions
        self._run = run
        self._ignored = {table: set(columns) for table, columns in generated.items()}
        self._known: dict[frozenset[int], set[Outcomes]] = {}
        first, second = run(range(sessions)), run(range(sessions))
        self._ignore_differing(first.state or {}, second.state or {})

    def broken(self, execution: Execution) -> str | None:
        """Return how the outcome differs from that of every serial order."""
        aborted = [each.session for each in execution.outcomes if each.ending in ABORTS]
        others = [session for session in range(self._sessions) if session not in aborted]
        for left_out in _subsets(aborted):
            taken = frozenset([*others, *(session for session in aborted if session not in left_out)])
            if self._seen(execution, taken) in self._of(taken):
                return None
        return "the outcome is that of no serial order" + self._differences(execution, frozenset(others))

    def _of(self, taken: frozenset[int]) -> set[Outcomes]:
        if taken not in self._known:
            self._known[taken] = {self._seen(self._run(order), taken) for order in itertools.permutations(sorted(taken))}
        return self._known[taken]

    def _seen(self, execution: Execution, taken: frozenset[int]) -> Outcomes:
        said = tuple(_said(each) for each in execution.outcomes if each.session in taken and each.ending not in ABORTS)
        return said, self._compared(execution.state or {})

    def _compared(self, state: State) -> tuple[tuple[str, tuple[tuple[Any, ...], ...]], ...]:
        tables = []
        for table, (header, *rows) in sorted(state.items()):
            kept = [at for at, column in enumerate(header) if column not in self._ignored.get(table, ())]
            tables.append((table, tuple(sorted((tuple(row[at] for at in kept) for row in rows), key=repr))))
        return tuple(tables)

    def _ignore_differing(self, first: State, second: State) -> None:
        for table in first.keys() & second.keys():
            header = first[table][0]
            for at, column in enumerate(header):
                if sorted(map(repr, _column(first[table], at))) != sorted(map(repr, _column(second[table], at))):
                    self._ignored.setdefault(table, set()).add(str(column))

    def _differences(self, execution: Execution, taken: frozenset[int]) -> str:
        """Say what is where, and what it is after each serial order."""
        said, state = self._seen(execution, taken)
        orders = sorted(self._of(taken), key=repr)
        for at, (table, rows) in enumerate(state):
            serial = [order[1][at][1] for order in orders]
            if rows not in serial:
                return f": {table} has {_rows(rows)}, serially {' or '.join(dict.fromkeys(map(_rows, serial)))}"
        serially = " or ".join(dict.fromkeys(", ".join(order[0]) for order in orders))
        return f": the calls returned {', '.join(said)}, serially {serially}"


def _column(rows: list[list[str | None]], at: int) -> list[str | None]:
    return [row[at] for row in rows]


def _rows(rows: tuple[tuple[Any, ...], ...]) -> str:
    shown = ", ".join(f"({', '.join('NULL' if value is None else str(value) for value in row)})" for row in rows[:5])
    return (shown or "no rows") + (", …" if len(rows) > 5 else "")


def _said(outcome: Outcome) -> str:
    said = outcome.exception or repr(outcome.returned)
    return f"{letter(outcome.session)}: {said}"


def _asserts(function: Callable[..., Any]) -> bool:
    """Tell whether a function says by ``assert`` what doesn't hold, and so may return nothing."""
    code = getattr(function, "__code__", None)
    instructions = dis.get_instructions(code) if code else ()
    return any(each.opname == "LOAD_ASSERTION_ERROR" or "AssertionError" in str(each.argval) for each in instructions)


def _subsets(items: Sequence[int]) -> Iterator[tuple[int, ...]]:
    for size in range(len(items), -1, -1):
        yield from itertools.combinations(items, size)


def takes(function: Callable[..., Any]) -> int:
    """Return how many of (db, history) `function` wants; raises `UsageError` for more."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return 1
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    wanted = [each for each in parameters if each.kind in kinds and each.default is inspect.Parameter.empty]
    if any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters):
        return 2
    if len(wanted) > 2:
        raise UsageError(f"{getattr(function, '__name__', function)} wants {len(wanted)} arguments; it is given db and history")
    return len(wanted)
