"""Leaves out schedules that can't differ from one that is carried out: sleep sets over steps that commute.

After P. Godefroid, Partial-Order Methods for the Verification of Concurrent Systems, LNCS 1032, 1996, chapter 5: of two
neighbouring steps that commute only one order is explored. Which commute is judged without knowledge of tables, so that no
trigger, foreign key or function can hide a dependence:

- BEGIN and SAVEPOINT commute with everything, but not ROLLBACK TO;
- two plain reads commute;
- a plain read and a write that isn't committed yet commute, unless reads lock or see it (`strict`: SERIALIZABLE, READ
  UNCOMMITTED, or a level that the program sets itself);
- the end of a transaction that only read commutes with reads, and with writes unless `strict`;
- nothing else commutes: not what may lock whole tables, end the transaction or do several things, as DDL, LOCK TABLE, a
  procedure or an unknown function may.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from iobound.race import statements
from iobound.race.search import Pending, Prefix, Search, Trial, default
from iobound.records.race import StepKind

PURE = re.compile(
    r"(?:count|sum|min|max|avg|coalesce|exists|in|any|all|lower|upper|length|abs|round|cast|nullif|greatest|least|ifnull"
    r"|and|or|not|where|select|from|as|on|join|values|distinct|by)",
    re.IGNORECASE,
)
LOCKING = {"for", "into", "lock", "insert", "update", "delete", "merge"}
ROWS = {"select", "values", "with", "insert", "replace", "update", "delete", "merge", "copy", "fetch", "declare"}
"""What statements begin with that lock rows at most, and leave the transaction open."""
ROWS_ONLY = re.compile(
    r"(?:pg_(?:try_)?advisory_(?:xact_)?lock(?:_shared)?|get_lock|nextval|currval|lastval|last_insert_id|now|concat|substr(?:ing)?"
    r"|set|using|over|partition|key|values|conflict|update|insert|delete|returning|limit|offset)",
    re.IGNORECASE,
)
"""Functions that change nothing but a sequence or a lock, and words before a parenthesis that aren't functions."""


@dataclass(frozen=True)
class Effect:
    """What a step may do to others: whether it reads, changes what only its own session sees, or makes that seen."""

    reads: bool = False
    writes: bool = False
    ends: bool = False


ANYTHING = Effect(reads=True, writes=True, ends=True)


class _Session:
    """What a session has done in its transaction so far."""

    def __init__(self) -> None:
        self.inside = False
        self.open = False
        self.wrote = False

    def effect(self, kind: StepKind, sql: str) -> Effect:
        """Return what the statement would do next."""
        match kind:
            case "begin":
                words = {word.lower() for word in statements.words(sql)}
                if words & {"immediate", "exclusive", "snapshot"}:
                    return ANYTHING
                return Effect(ends=self.open, writes=self.wrote)  # MariaDB and MySQL commit what is open
            case "savepoint" if statements.words(sql)[0].lower() != "rollback":
                return Effect()
            case "savepoint":
                return ANYTHING  # it lets go of locks
            case "commit" | "rollback":
                return Effect(ends=True, writes=self.wrote)
        if pure(sql):
            return Effect(reads=True)
        return Effect(reads=True, writes=True) if self.inside and rows_only(sql) else ANYTHING

    def did(self, kind: StepKind, sql: str) -> None:
        """Take in that the statement was executed."""
        if kind == "begin":
            self.inside = True
        elif kind in ("commit", "rollback"):
            self.inside = self.open = self.wrote = False
        elif kind == "statement":
            self.open = True
            self.wrote |= not pure(sql)
            self.inside &= pure(sql) or rows_only(sql)


def pure(sql: str) -> bool:
    """Tell whether `sql` certainly only reads, and locks nothing: a SELECT without a locking clause or unknown function."""
    words = statements.words(sql)
    lower = [word.lower() for word in words]
    if not lower or lower[0] not in ("select", "values") or ";" in lower[:-1] or LOCKING & set(lower):
        return False
    return all(PURE.fullmatch(name) for name in _called(lower))


def rows_only(sql: str) -> bool:
    """Tell whether `sql` certainly locks rows at most, and leaves the transaction open."""
    lower = [word.lower() for word in statements.words(sql)]
    if not lower or lower[0] not in ROWS or ";" in lower[:-1]:
        return False
    return all(PURE.fullmatch(name) or ROWS_ONLY.fullmatch(name) for name in _called(lower))


def _called(lower: list[str]) -> list[str]:
    """Return the words before a parenthesis, but for the table of an INSERT."""
    before = [None, *lower]
    return [
        name
        for previous, name, sign in zip(before, lower, lower[1:], strict=False)
        if sign == "(" and previous != "into" and re.match(r"\w", name)
    ]


def commute(one: Effect, other: Effect, *, strict: bool) -> bool:
    """Tell whether two steps of different sessions come to the same in either order."""
    if one.ends and other.ends:
        return False
    if one.ends or other.ends:
        end, step = (one, other) if one.ends else (other, one)
        if end.writes:
            return not (step.reads or step.writes)
        return not (step.writes and strict)
    if one.writes and other.writes:
        return False
    if one.writes or other.writes:
        return not (strict and one.reads and other.reads)
    return True


class ReducedTrial(Trial):
    """A trial that wakes no sleeping session; where only those are left it is redundant, and is not worth judging."""

    def __init__(self, prefix: Prefix, *, strict: bool) -> None:
        super().__init__(prefix)
        self.sleeping: list[frozenset[int]] = []
        self._strict = strict
        self._sessions: dict[int, _Session] = {}
        self._asleep: frozenset[int] = frozenset()

    def choose(self, pending: Pending) -> int:
        """Return the next session, and see who sleeps on."""
        at = len(self.schedule)
        if at == len(self.prefix.choices) - 1:
            self._asleep = self.prefix.asleep
        self.sleeping.append(self._asleep)
        chosen = super().choose(pending)
        effects = {session: self._of(session).effect(*statement) for session, statement in pending.items()}
        self._asleep = frozenset(
            session
            for session in self._asleep
            if session != chosen and session in effects and commute(effects[session], effects[chosen], strict=self._strict)
        )
        self._of(chosen).did(*pending[chosen])
        return chosen

    def prefer(self, pending: Pending) -> int:
        """Choose among those awake."""
        awake = [session for session in pending if session not in self._asleep]
        if not awake:
            self.redundant = True
        return default(awake or list(pending), self.schedule)

    def _of(self, session: int) -> _Session:
        return self._sessions.setdefault(session, _Session())


class Reduced(Search):
    """A search that leaves out what commutes."""

    def __init__(self, *, strict: bool) -> None:
        super().__init__()
        self._strict = strict

    def begin(self, prefix: Prefix) -> Trial:
        """Return a trial that begins with `prefix`."""
        return ReducedTrial(prefix, strict=self._strict)

    def explored(self, trial: Trial) -> None:
        """Remember what else could have been chosen by those awake."""
        assert isinstance(trial, ReducedTrial)
        for at in range(len(trial.prefix.choices), len(trial.schedule)):
            asleep = trial.sleeping[at]
            if trial.schedule[at] in asleep:
                return  # from here on redundant
            for other in trial.pending[at]:
                if other != trial.schedule[at] and other not in asleep:
                    asleep |= {trial.schedule[at]}
                    self.add(trial, at, other, asleep)
                    asleep |= {other}
