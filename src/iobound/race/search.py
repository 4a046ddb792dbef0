"""Which schedule next: a depth-first search that keeps no state but prefixes of schedules, fewest preemptions first.

A schedule is known by its choices. Each execution shows what else could have been chosen at every step after its prefix: one
new prefix each, so that every schedule is carried out exactly once. A switch away from a session that could have gone on is
a preemption.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field

from iobound.race import statements
from iobound.records.race import StepKind

FAIR = 40
"""Steps in a row after which a session gives way to another one, so that a loop which waits for that one can end."""

Pending = dict[int, tuple[StepKind, str]]
"""The sessions that can be chosen, in their order, with the statement that each would execute."""


class Diverged(Exception):
    """The same choices led elsewhere than before: the function isn't a function of its schedule."""


@dataclass(frozen=True, order=True)
class Prefix:
    """Choices to begin with. `pending` is what could be chosen then, to notice when it is something else now.

    `asleep` are sessions whose step at the last choice would only repeat what is explored elsewhere (`iobound.race.reduction`).
    """

    preemptions: int
    number: int
    choices: tuple[int, ...] = field(compare=False)
    pending: tuple[Pending, ...] = field(compare=False, default=())
    asleep: frozenset[int] = field(compare=False, default=frozenset())


class Trial:
    """One execution as the search sees it: asked at each step which session goes on."""

    def __init__(self, prefix: Prefix) -> None:
        self.prefix = prefix
        self.schedule: list[int] = []
        self.pending: list[Pending] = []
        self.redundant = False

    def choose(self, pending: Pending) -> int:
        """Return the session that takes the next step. Raises `Diverged` where the prefix can't be followed."""
        at = len(self.schedule)
        if at < len(self.prefix.choices):
            chosen = self.prefix.choices[at]
            self._compare(at, pending)
        else:
            chosen = self.prefer(pending)
        self.pending.append(pending)
        self.schedule.append(chosen)
        return chosen

    def prefer(self, pending: Pending) -> int:
        """Return the choice after the prefix."""
        return default(list(pending), self.schedule)

    def _compare(self, at: int, pending: Pending) -> None:
        before = self.prefix.pending[at]
        if _shapes(before) != _shapes(pending):
            raise Diverged(f"after the same {at} steps the sessions would do {_shown(pending)}, before {_shown(before)}")


class Search:
    """The schedules that are left. `next` gives a trial, `explored` takes it in when it has ended."""

    def __init__(self) -> None:
        self._left: list[Prefix] = [Prefix(0, 0, ())]
        self._number = 0

    def next(self) -> Prefix | None:
        """Return the prefix to try, ``None`` where all schedules are done."""
        return heapq.heappop(self._left) if self._left else None

    def begin(self, prefix: Prefix) -> Trial:
        """Return a trial that begins with `prefix`."""
        return Trial(prefix)

    def explored(self, trial: Trial) -> None:
        """Remember what else could have been chosen in an execution."""
        for at in range(len(trial.prefix.choices), len(trial.schedule)):
            for other in trial.pending[at]:
                if other != trial.schedule[at]:
                    self.add(trial, at, other)

    def add(self, trial: Trial, at: int, other: int, asleep: frozenset[int] = frozenset()) -> None:
        """Remember the prefix in which `other` is chosen at step `at`."""
        self._number += 1
        choices = (*trial.schedule[:at], other)
        pending = tuple(trial.pending[: at + 1])
        heapq.heappush(self._left, Prefix(preemptions(choices, pending), self._number, choices, pending, asleep))


def default(choices: Sequence[int], schedule: Sequence[int]) -> int:
    """Return the choice without preemption: the session that went last, in fairness not for ever, else the first one."""
    if not schedule or schedule[-1] not in choices:
        return choices[0]
    last = schedule[-1]
    if len(schedule) >= FAIR and set(schedule[-FAIR:]) == {last}:
        return next((choice for choice in choices if choice > last), choices[0])
    return last


def preemptions(schedule: Sequence[int], pending: Sequence[Pending]) -> int:
    """Count the switches away from a session that could have gone on."""
    return sum(
        previous != chosen and previous in could
        for previous, chosen, could in zip(schedule, schedule[1:], pending[1:], strict=False)
    )


def _shapes(pending: Pending) -> list[tuple[int, StepKind, tuple[str, ...]]]:
    return [(session, kind, statements.shape(sql)) for session, (kind, sql) in pending.items()]


def _shown(pending: Pending) -> str:
    return " | ".join(f"{session}: {sql[:60]}" for session, (_, sql) in pending.items())
