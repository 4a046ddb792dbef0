"""Carries out a schedule of an earlier exploration again, from its replay file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from iobound.errors import NoVerdict, UsageError
from iobound.race import cases, statements
from iobound.race.cases import Case
from iobound.race.explorer import Exploration, Report, judged
from iobound.race.search import Pending
from iobound.records import race as records
from iobound.records.race import Replay


class Moved(NoVerdict):
    """The code no longer follows the schedule, so nothing can be said about it."""


def write(replay: Replay, file: Path) -> None:
    """Write a replay file."""
    file.write_bytes(msgspec.json.format(msgspec.json.encode(replay), indent=1) + b"\n")


def read(file: Path) -> Replay:
    """Read a replay file; raises `UsageError`."""
    try:
        found = msgspec.json.decode(file.read_bytes(), type=Replay)
    except OSError as error:
        raise UsageError(f"can't read {file}: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise UsageError(f"{file} is no replay file: {error}") from error
    if found.schema != records.SCHEMA:
        raise UsageError(f"{file} has schema {found.schema}, this iobound reads {records.SCHEMA}; explore again")
    return found


def replay(
    file: str | Path, *, case: Case | None = None, database: str | None = None, yes_database: str | None = None
) -> Report:
    """Carry out the schedule in `file` once more, of the function that it names, or of `case`.

    The verdict is ``violated`` where it goes wrong again, ``incomplete`` where it doesn't, for it is one schedule of many.
    Raises `Moved` where the function no longer does what the schedule says, `UsageError` where it or the file is gone.
    """
    wanted = read(Path(file))
    found = case or cases.load(wanted.case)
    found = replace(found, model=wanted.model, database=database or found.database or wanted.database)
    with Exploration(found, yes_database=yes_database) as exploration:
        exploration.isolate(wanted.isolation)
        execution = exploration.execute(_Follow(wanted).choose, wanted.order or None, with_state=True)
        broken = exploration.judge()(execution)
        level = records.Level(
            isolation=wanted.isolation,
            verdict="violated" if broken else "incomplete",
            schedules=1,
            exhaustive=False,
            violations=int(broken is not None),
            example=judged(execution, broken, wanted.isolation) if broken else None,
            violating=[execution.schedule] if broken else [],
            outcomes=records.endings([execution]),
            reason=None if broken else "this schedule holds now; explore to know about the others",
            notes=execution.notes,
        )
        level = msgspec.structs.replace(level, anomaly=level.example.anomaly if level.example else None)
        report = records.Report(subject=exploration.subject, verdict=level.verdict, levels=[level])
    return Report(report, found)


class _Follow:
    """Chooses what a replay file says, and compares what each session would do."""

    def __init__(self, replay: Replay) -> None:
        self._steps: Sequence[tuple[int, records.StepKind, str]] = replay.steps
        self._at = 0

    def choose(self, pending: Pending) -> int:
        if self._at >= len(self._steps):
            raise Moved(f"the schedule ends after {self._at} steps, the function goes on with {_shown(pending)}")
        session, kind, sql = self._steps[self._at]
        self._at += 1
        now = pending.get(session)
        if now is None or (now[0], statements.shape(now[1])) != (kind, statements.shape(sql)):
            raise Moved(
                f"step {self._at} was {records.letter(session)}: {sql!r}; now the sessions would do {_shown(pending)}: "
                "the function has changed, explore it again"
            )
        return session


def _shown(pending: Pending) -> str:
    return " | ".join(f"{records.letter(session)}: {sql!r}" for session, (_, sql) in pending.items())
