"""Explores a function: every schedule of its sessions on a real database, at each isolation level asked for."""

from __future__ import annotations

import itertools
import math
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from iobound.errors import UsageError
from iobound.race import anomaly, cases, judging, models, opening, production, statements, terminal
from iobound.race.cases import Case, Function, Setup
from iobound.race.controller import Controller, Unsupported
from iobound.race.opening import Opened
from iobound.race.reduction import Reduced
from iobound.race.resetting import Reset
from iobound.race.search import Diverged, Pending, Prefix, Search, Trial
from iobound.race.wakeup import Wakeup
from iobound.records import race as records
from iobound.records.race import Execution, Level, Model, Replay, Subject, Violation

Progress = Callable[[str, float], None]
"""Is told what goes on, and which share of `max_schedules` is done."""

MAX_SCHEDULES = 1_000
REDUCED_TIMES = 10
"""How many times `max_schedules` a reduced search may take: each of its schedules stands for many."""
REPEATS = 2
"""How often a schedule that went another way is tried again before the function is called unpredictable."""
SHOWN_SCHEDULES = 10_000


class Violated(AssertionError):
    """Some schedule breaks the invariant; the message shows it."""


@dataclass(frozen=True)
class Report:
    """What an exploration found; `record` is all of it, fit for JSON."""

    record: records.Report
    case: Case

    @property
    def verdict(self) -> records.Verdict:
        """Return the worst verdict of all levels."""
        return self.record.verdict

    @property
    def levels(self) -> list[Level]:
        """Return what was found at each isolation level."""
        return self.record.levels

    @property
    def schedules(self) -> int:
        """Count the schedules carried out at all levels."""
        return sum(level.schedules for level in self.levels)

    @property
    def violations(self) -> int:
        """Count the schedules that broke the invariant."""
        return sum(level.violations for level in self.levels)

    @property
    def anomaly(self) -> str | None:
        """Return the name of the anomaly, ``None`` where nothing is violated or it has no name."""
        return next((level.anomaly for level in self.levels if level.anomaly), None)

    @property
    def example(self) -> Violation | None:
        """Return the violation with the fewest preemptions, of the first level that has one."""
        return next((level.example for level in self.levels if level.example), None)

    def replay(self) -> Replay | None:
        """Return what `iobound.race.replay` needs to show the example again."""
        for level in self.levels:
            if level.example:
                execution = level.example.execution
                return Replay(
                    schema=records.SCHEMA,
                    case=self.case.name,
                    model=self.record.subject.model,
                    database=self.record.subject.database,
                    isolation=level.isolation,
                    schedule=execution.schedule,
                    order=execution.order,
                    steps=[(step.session, step.kind, step.sql) for step in execution.steps],
                    reason=level.example.reason,
                    anomaly=level.anomaly,
                )
        return None

    def assert_holds(self) -> None:
        """Raise `Violated` where some schedule breaks the invariant, and where not all were tried."""
        if self.verdict != "holds":
            raise Violated(f"\n{self}")

    def __str__(self) -> str:
        """Return the report as text: verdicts, and the schedule that goes wrong."""
        return terminal.text(self.record)


def explore(
    function: Function | Sequence[Function],
    *,
    sessions: int | Sequence[Any] | None = None,
    database: str | None = None,
    setup: Setup | None = None,
    invariant: Callable[..., Any] | None = None,
    isolation: Sequence[str] | str | None = None,
    model: Model | None = None,
    max_schedules: int = MAX_SCHEDULES,
    yes_database: str | None = None,
    progress: Progress | None = None,
) -> Report:
    """Carry out every schedule of concurrent calls of `function`, which finds the database in ``DATABASE_URL``.

    `function` may be a list of functions, one a session. `sessions` is their number (two), or the arguments of each.
    `database` is a URL, or postgresql, mariadb or sqlite for a private one; a URL that looks like production needs its
    database's name again as `yes_database`. `setup` is SQL, or a function that may take `db`; it runs before every schedule.
    `invariant` takes `db` and, if it wants, the history (`iobound.records.race.Execution`); without one the outcome must be
    that of some serial order. `isolation` are default levels to explore, one after another; the function may set its own.
    Up to `max_schedules` are carried out exhaustively; where there are more, those that can't differ are left out. What a
    ``@race.case`` above the function says is taken where it isn't said here.

    Raises `UsageError` for what can't be explored, `LabError` where the database can't be had.
    """
    case = cases.combine(
        function, sessions, setup=setup, invariant=invariant, database=database, isolation=isolation, model=model
    )
    return explore_case(case, max_schedules=max_schedules, yes_database=yes_database, progress=progress)


def explore_case(
    case: Case,
    *,
    max_schedules: int = MAX_SCHEDULES,
    yes_database: str | None = None,
    progress: Progress | None = None,
    rewrite: Callable[[str], str] | None = None,
) -> Report:
    """Explore a case; see `explore`. Each statement is sent as `rewrite` has it."""
    with Exploration(case, yes_database=yes_database) as exploration:
        if rewrite:
            exploration.rewrite(rewrite)
        tell = progress or (lambda what, share: None)
        levels = [exploration.level(isolation, max_schedules, tell) for isolation in _levels(case)]
        return Report(
            records.Report(subject=exploration.subject, verdict=worst(level.verdict for level in levels), levels=levels),
            case,
        )


def _levels(case: Case) -> Sequence[str | None]:
    return case.isolation or [None]


def worst(verdicts: Iterator[records.Verdict]) -> records.Verdict:
    """Return the worst of several verdicts."""
    order: list[records.Verdict] = ["violated", "unsupported", "incomplete", "holds"]
    return min(verdicts, key=order.index)


class Exploration:
    """A case with its database, its sessions and its set-up in place. A context manager that leaves nothing behind."""

    def __init__(self, case: Case, *, yes_database: str | None = None) -> None:
        if case.database and "://" in case.database:
            production.refuse(case.database, yes_database)
        if case.setup is None:
            raise UsageError("each schedule must begin with the same state: give setup=, SQL or a function that makes it")
        self.case = case
        self._exits = ExitStack()

    def __enter__(self) -> Exploration:
        with ExitStack() as exits:
            case = self.case
            self._wakeup = Wakeup()
            exits.callback(self._wakeup.close)
            if opening.kind(case.database) == "sqlite" and case.model not in ("threads", "asyncio"):
                raise UsageError(f"SQLite is explored with the models threads and asyncio, not {case.model}: it has no server")
            self._opened: Opened = exits.enter_context(opening.open_database(case.database, self._wakeup))
            exits.enter_context(_environment(self._opened.settings))
            calls = [partial(function, *given) for function, given in zip(case.functions, case.arguments, strict=True)]
            model = models.find(case.model)(calls, self._wakeup)
            exits.callback(model.close)
            self._controller = Controller(len(calls), model, self._opened.gate, self._wakeup, self._opened.database.failure)
            assert case.setup is not None
            self._reset = Reset(case.setup, self._opened.database, self._aside, ours=self._opened.ours)
            self._invariant = judging.Invariant(case.invariant, self._opened.database) if case.invariant else None
            self._exits = exits.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        self._exits.close()

    @property
    def subject(self) -> Subject:
        """Describe what is explored."""
        database = self._opened.database
        return Subject(
            function=self.case.name,
            calls=[_call(*each) for each in zip(self.case.functions, self.case.arguments, strict=True)],
            model=self.case.model,
            database=self.case.database if self.case.database and "://" not in self.case.database else database.name,
            server=f"{database.name} {database.version}",
            setup=self._reset.executed,
        )

    def level(self, isolation: str | None, max_schedules: int, progress: Progress) -> Level:
        """Explore one isolation level."""
        return _LevelSearch(self, isolation, max_schedules, progress).run()

    def isolate(self, isolation: str | None) -> None:
        """Set the default level of the sessions to come."""
        known = self._opened.database.isolations
        if isolation is not None and isolation.lower() not in known:
            raise UsageError(f"{self._opened.database.name} has no isolation level {isolation!r}; it has: {', '.join(known)}")
        self._opened.isolate(isolation.lower() if isolation else None)

    def rewrite(self, rewrite: Callable[[str], str]) -> None:
        """Let statements be sent as `rewrite` has them."""
        self._opened.gate.rewrite = rewrite

    def execute(
        self, choose: Callable[[Pending], int], order: Sequence[int] | None = None, *, with_state: bool = False
    ) -> Execution:
        """Carry out one schedule; sessions not in `order` stay out."""
        self._reset.again()
        try:
            execution = self._controller.run(choose, order or range(len(self.case.functions)))
        except (Diverged, Unsupported):
            self._controller.abandon()
            raise
        if self._opened.refused():
            raise self._opened.refused()[0]
        return msgspec.structs.replace(execution, state=self.state()) if with_state else execution

    def at_will(self, tries: int) -> tuple[int, int, float]:
        """Let the sessions run at once, unscheduled; return how many ended well, how often one began anew, and the seconds."""
        self._reset.again()
        began = time.perf_counter()
        well, anew = self._controller.at_will(tries)
        return well, anew, time.perf_counter() - began

    def judge(self) -> Callable[[Execution], str | None]:
        """Return what says how an execution is wrong: the invariant, or without one the serial orders, which are run now."""
        invariant = self._invariant
        if invariant:
            return lambda execution: self._aside(partial(invariant.broken, execution))

        def run(order: Sequence[int]) -> Execution:
            return self.execute(lambda pending: next(each for each in order if each in pending), order, with_state=True)

        return judging.Serial(len(self.case.functions), run, self._opened.database.generated()).broken

    @property
    def judges_serially(self) -> bool:
        """Whether no invariant was given."""
        return self._invariant is None

    @property
    def depends_on_order(self) -> bool:
        """Whether it matters in which order the sessions begin, seen since `warmed_up`."""
        return self._controller.depends_on_order

    @property
    def waited_in_python(self) -> bool:
        """Whether sessions have waited in Python for each other, so that a step may matter to more than the database."""
        return self._controller.waited_in_python

    def warmed_up(self) -> None:
        """Count only from now on: while a pool fills for the first time, sessions wait as they never do again."""
        self._controller.depends_on_order = self._controller.waited_in_python = False

    def check_setup(self) -> None:
        """See that the set-up undoes what a schedule did."""
        self._reset.check()

    def strict(self, isolation: str | None) -> bool:
        """Tell whether sessions may run at a level where reads lock, or see what isn't committed."""
        level = isolation or self._opened.database.isolation()
        return level in ("serializable", "read uncommitted") or self._opened.gate.sets_isolation

    @property
    def isolations(self) -> Sequence[str]:
        """The levels that the database has, the weakest first; none where it has only one."""
        return self._opened.database.isolations

    def state(self) -> records.State:
        """Read all tables."""
        return self._opened.database.state()

    def _aside(self, act: Callable[[], Any]) -> Any:
        """Run `act` in a thread, so that connections of its own pass through the proxy meanwhile; return what it returns."""
        results: list[Any] = []
        errors: list[BaseException] = []

        def run() -> None:
            try:
                results.append(act())
            except BaseException as error:
                errors.append(error)
            self._wakeup.tell(lambda: None)

        thread = threading.Thread(target=run, name="iobound set-up", daemon=True)
        thread.start()
        while not results and not errors:
            self._wakeup.wait(1)
        thread.join()
        if errors:
            raise errors[0]
        return results[0]


class _LevelSearch:
    """The search at one isolation level."""

    def __init__(self, exploration: Exploration, isolation: str | None, max_schedules: int, progress: Progress) -> None:
        self._exploration = exploration
        self._isolation = isolation
        self._max = max_schedules
        self._progress = progress
        self._example: tuple[int, Violation] | None = None
        self._violating: list[list[int]] = []
        self._endings: Counter[str] = Counter()
        self._notes: dict[str, None] = {}
        self._several: str | None = None
        self._count = 0
        self._endless = 0
        self._reduced = False

    def run(self) -> Level:
        """Search, and judge what was found."""
        began = time.perf_counter()
        reason = None
        exhaustive = False
        try:
            exhaustive = self._search_all()
        except Unsupported as unsupported:
            reason = str(unsupported)
        except Diverged as diverged:
            reason = f"the function doesn't do the same under the same schedule: {diverged}"
        verdict: records.Verdict
        if self._example:
            verdict = "violated"
        elif reason:
            verdict = "unsupported"
        elif self._endless:
            verdict, reason = "incomplete", f"{self._endless} schedules never ended: {next(iter(self._notes), '')}"
        elif not exhaustive:
            verdict, reason = "incomplete", f"there are more than {self._count} schedules"
        elif self._several:
            verdict = "incomplete"
            reason = f"what others do inside of a request can't be tried, and this has several statements: {self._several}"
        else:
            verdict = "holds"
        example = self._example[1] if self._example else None
        return Level(
            isolation=self._isolation,
            verdict=verdict,
            schedules=self._count,
            exhaustive=exhaustive,
            reduced=self._reduced,
            violations=len(self._violating),
            anomaly=example.anomaly if example else None,
            example=example,
            outcomes=dict(self._endings),
            violating=self._violating[:SHOWN_SCHEDULES],
            reason=reason,
            notes=list(self._notes),
            seconds=time.perf_counter() - began,
        )

    def _search_all(self) -> bool:
        """Carry out one schedule to see that all is well, then all; return whether no more are left."""
        exploration = self._exploration
        exploration.isolate(self._isolation)
        first = exploration.execute(Trial(Prefix(0, 0, ())).choose)
        if first.faults:  # what broke then, such as a connection that the function keeps, may be broken from now on
            self._take_in(first, "; ".join(first.faults), 0)
            return False
        for session in range(len(exploration.case.functions)):
            if not any(step.session == session for step in first.steps):
                _check_reached(session, exploration.execute(Trial(Prefix(0, 0, ())).choose, [session]))
        exploration.check_setup()
        self._broken = exploration.judge()
        self._serially = exploration.judges_serially
        if possible(first) <= REDUCED_TIMES * self._max and self._search(Search, self._max):
            return True
        self._reduced = True
        complete = self._search(partial(Reduced, strict=exploration.strict(self._isolation)), REDUCED_TIMES * self._max)
        if self._example or not exploration.waited_in_python:
            return complete
        self._reduced = False  # what doesn't matter to the database may matter to a lock in Python
        return self._search(Search, REDUCED_TIMES * self._max)

    def _search(self, make: Callable[[], Search], limit: int) -> bool:
        """Carry out up to `limit` schedules; return whether no more are left.

        Where a session waits in Python for another one before its first statement, each order of beginning them is searched.
        """
        self._violating = []
        self._endings = Counter()
        self._count = self._endless = 0
        self._exploration.warmed_up()
        sessions = range(len(self._exploration.case.functions))
        for order in itertools.permutations(sessions):
            search = make()
            while prefix := search.next():
                if self._count >= limit:
                    return False
                self._explore(search, prefix, order)
            if not self._exploration.depends_on_order:
                break
        return True

    def _explore(self, search: Search, prefix: Prefix, order: Sequence[int]) -> None:
        for attempt in range(REPEATS + 1):
            trial = search.begin(prefix)
            try:
                execution = self._exploration.execute(trial.choose, order, with_state=self._serially)
                break
            except Diverged:
                if attempt == REPEATS:
                    raise
        search.explored(trial)
        if trial.redundant:
            return
        broken = "; ".join(execution.faults) or None
        endless = any(outcome.ending == "endless" for outcome in execution.outcomes)
        self._take_in(execution, broken or (None if endless else self._broken(execution)), prefix.preemptions)
        self._endless += endless
        self._progress(f"exploring at {self._isolation or 'the default level'}", min(1, self._count / self._max))

    def _take_in(self, execution: Execution, reason: str | None, preemptions: int) -> None:
        """Count an execution; keep the violation with the fewest preemptions, with what the tables hold after it."""
        self._count += 1
        self._endings.update(outcome.ending for outcome in execution.outcomes)
        self._notes.update(dict.fromkeys(execution.notes))
        several = (" ".join(step.sql.split()) for step in execution.steps if statements.several(step.sql))
        self._several = self._several or next(several, None)
        if reason is None:
            return
        self._violating.append(execution.schedule)
        if self._example is None or preemptions < self._example[0]:
            whole = msgspec.structs.replace(execution, state=execution.state or self._exploration.state())
            self._example = preemptions, judged(whole, reason, self._isolation)


def judged(execution: Execution, reason: str, isolation: str | None) -> Violation:
    """Return a violation with its name."""
    named = anomaly.find(execution, isolation)
    return Violation(
        execution=execution,
        reason=reason,
        anomaly=named.name if named else None,
        stale=named.stale if named else None,
    )


def possible(execution: Execution) -> int:
    """Return how many interleavings there are of as many steps as each session took, locks left out of account."""
    counts = Counter(step.session for step in execution.steps)
    return math.factorial(sum(counts.values())) // math.prod(map(math.factorial, counts.values()))


def _check_reached(session: int, alone: Execution) -> None:
    """Raise `UsageError` where a session does nothing on the database even alone, or can't begin."""
    if alone.steps:
        return
    name = records.letter(session)
    [outcome] = alone.outcomes
    if outcome.exception:
        raise UsageError(f"session {name} raises before its first statement: {outcome.exception}")
    if outcome.ending == "endless":
        raise UsageError(f"session {name} neither ends nor reaches the database: {'; '.join(alone.notes)}")
    raise UsageError(
        f"no statement of session {name} came by: the function opens its connection elsewhere, or executes nothing; "
        "let it connect to the URL in the environment variable DATABASE_URL, read when it is called"
    )


def _call(function: Function, arguments: tuple[Any, ...]) -> str:
    return f"{getattr(function, '__name__', function)}({', '.join(map(repr, arguments))})"


@contextmanager
def _environment(settings: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables for a while."""
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
