"""A report as text: verdicts, and the schedule that goes wrong as in a textbook, one column a session."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator
from pathlib import Path

from iobound.records.race import Execution, Level, Outcome, Report, Step, Subject, Violation, letter

WIDTH = 110
NUMBER = 4
GAP = 2


def text(report: Report, width: int = WIDTH) -> str:
    """Return the whole report."""
    return "\n".join(_report(report, width))


def verdict(level: Level) -> str:
    """Return the verdict in words, such as ``holds (50/50 schedules, exhaustive)``."""
    how = "exhaustive" if level.exhaustive and not level.reduced else "reduced" if level.exhaustive else "not exhaustive"
    right = level.schedules - level.violations
    match level.verdict:
        case "holds":
            return f"holds ({right}/{level.schedules} schedules, {how})"
        case "violated":
            return f"violated ({level.violations} of {level.schedules} schedules, {how})"
        case "incomplete":
            return f"incomplete ({right}/{level.schedules} schedules hold, {level.reason})"
    return f"unsupported ({level.reason})"


def _report(report: Report, width: int) -> Iterator[str]:
    subject = report.subject
    yield f"{_short(subject.function)}: {' | '.join(subject.calls)}, as {subject.model} on {subject.server}"
    for level in report.levels:
        yield f"  {level.isolation or 'default level'}: {verdict(level)}" + (f": {level.anomaly}" if level.anomaly else "")
        aborted = ", ".join(f"{count} {ending}" for ending, count in sorted(level.outcomes.items()) if ending != "committed")
        if aborted:
            yield f"    of {sum(level.outcomes.values())} calls: {aborted}"
        for note in level.notes:
            yield f"    {note}"
    example = next((level for level in report.levels if level.example), None)
    if example and example.example:
        yield ""
        yield f"At {example.isolation or 'the default level'}, with the fewest preemptions:"
        yield from schedule(example.example, subject, width)


def schedule(violation: Violation, subject: Subject, width: int = WIDTH) -> Iterator[str]:
    """Return the lines of one execution: what each session did, read, waited for, and how it ended."""
    execution = violation.execution
    sessions = sorted(outcome.session for outcome in execution.outcomes)
    column = (width - NUMBER) // len(sessions) - GAP
    yield ""
    heads = [f"{letter(session)}  {subject.calls[session]}" for session in sessions]
    yield from _row("", heads, column)
    yield " " * NUMBER + (" " * GAP).join("─" * column for _ in sessions)
    for place, step in enumerate(execution.steps):
        cells = ["" for _ in sessions]
        cells[sessions.index(step.session)] = _cell(step, place, stale=place == violation.stale)
        yield from _row(str(place + 1), cells, column)
        for number, late in enumerate(execution.steps):
            if late.answered == place + 1 and number < place:
                cells = ["" for _ in sessions]
                cells[sessions.index(late.session)] = f"… step {number + 1} goes on{_result(late)}"
                yield from _row("", cells, column)
    yield " " * NUMBER + (" " * GAP).join("─" * column for _ in sessions)
    yield from _row("", [_ended(outcome) for outcome in execution.outcomes], column)
    yield ""
    yield from textwrap.wrap(f"{violation.reason}", width)
    if execution.state:
        yield from _state(execution, width)


def _cell(step: Step, place: int, *, stale: bool) -> str:
    said = " ".join(step.sql.split())
    if step.parameters:
        said += f"  [{', '.join('NULL' if value is None else value for value in step.parameters)}]"
    if step.blocked:
        who = " and ".join(map(letter, step.blocked_by))
        said += f"  … waits for {who}" if who else "  … waits for a lock"
    waited = step.answered is not None and step.answered > place + 1
    if not waited:
        said += _result(step)
    if stale:
        said += "  ← stale read"
    if step.source:
        said += f"  ({_short(step.source)})"
    return said


def _result(step: Step) -> str:
    if step.failure:
        return f"  ✗ {step.failure.code} {step.failure.kind}"
    if step.rows or step.columns:
        rows = [", ".join("NULL" if value is None else value for value in row) for row in step.rows[:3]]
        return f"  → {'; '.join(rows) or 'no rows'}" + ("; …" if len(step.rows) > 3 else "")
    if step.affected is not None and step.kind == "statement":
        return f"  → {step.affected} row{'s' * (step.affected != 1)}"
    return ""


def _ended(outcome: Outcome) -> str:
    said: str = outcome.ending
    if outcome.exception:
        said += f": {outcome.exception}"
    elif outcome.returned is not None:
        said += f", returned {outcome.returned!r}"
    return said + (f", {outcome.retries} retries" if outcome.retries else "")


def _state(execution: Execution, width: int) -> Iterator[str]:
    for table, (header, *rows) in (execution.state or {}).items():
        shown = "; ".join(
            ", ".join(f"{name}={'NULL' if value is None else value}" for name, value in zip(header, row, strict=True))
            for row in rows[:5]
        )
        more = "; …" if len(rows) > 5 else ""
        yield from textwrap.wrap(f"{table}: {shown or 'empty'}{more}", width, subsequent_indent="    ")


def _row(number: str, cells: list[str], column: int) -> Iterator[str]:
    wrapped = [textwrap.wrap(cell, column, subsequent_indent="   ") or [""] for cell in cells]
    for line in range(max(map(len, wrapped))):
        parts = [lines[line] if line < len(lines) else "" for lines in wrapped]
        label = number.rjust(NUMBER - 2) if line == 0 else ""
        yield (label.ljust(NUMBER) + (" " * GAP).join(part.ljust(column) for part in parts)).rstrip()


def _short(place: str) -> str:
    """Return FILE:LINE with the file as it is seen from here."""
    file, colon, rest = place.rpartition(":")
    try:
        relative = os.path.relpath(file)
    except ValueError:
        return place
    return f"{relative if not relative.startswith('..') else Path(file).name}{colon}{rest}"
