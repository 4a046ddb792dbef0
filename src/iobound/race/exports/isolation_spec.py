"""A specification for PostgreSQL's isolation tester (src/test/isolation/README): the violating schedule as a permutation."""

from __future__ import annotations

import re

from iobound.errors import UsageError
from iobound.race.statements import WORDS
from iobound.records.race import Level, Report, Step, letter

PARAMETER = re.compile(r"\$(\d+)")


def render(report: Report) -> str:
    """Return the example of the first violated level; raises `UsageError` where there is none, or not on PostgreSQL."""
    if not report.subject.server.lower().startswith("postgresql"):
        raise UsageError(f"isolation-spec is for PostgreSQL's tester; this is {report.subject.server}")
    for level in report.levels:
        if level.example:
            return _spec(report, level, level.example.execution.steps, sorted(level.example.execution.state or {}))
    raise UsageError("isolation-spec shows a schedule that goes wrong; here none does")


def _spec(report: Report, level: Level, steps: list[Step], tables: list[str]) -> str:
    assert level.example
    names = _names(steps)
    sent = {connection: [step for step in steps if step.connection == connection] for connection in names}
    lines = [
        f"# {', '.join(report.subject.calls)} of {report.subject.function} at {level.isolation or 'the default level'}",
        f"# {' '.join(level.example.reason.split())}{f' ({level.anomaly})' if level.anomaly else ''}",
        "",
        "setup",
        "{",
        *(f"    {statement.strip().rstrip(';')};" for statement in report.subject.setup),
        "}",
        *(["", "teardown", "{", f"    DROP TABLE {', '.join(tables)};", "}"] if tables else []),
    ]
    for connection, name in names.items():
        lines += ["", f"session {name}"]
        if level.isolation:
            lines.append(f"setup {{ SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {level.isolation.upper()}; }}")
        lines += [f"step {name}{at} {{ {_sql(step)}; }}" for at, step in enumerate(sent[connection])]
    order = [f"{names[step.connection]}{sent[step.connection].index(step)}" for step in steps]
    return "\n".join([*lines, "", f"permutation {' '.join(order)}", ""])


def _names(steps: list[Step]) -> dict[int, str]:
    """Name connections after their sessions: A, or A, A_2 … where a session uses several."""
    names: dict[int, str] = {}
    for step in steps:
        if step.connection not in names:
            used = sum(name.split("_")[0] == letter(step.session) for name in names.values())
            names[step.connection] = letter(step.session) + (f"_{used + 1}" if used else "")
    return names


def _sql(step: Step) -> str:
    """Return the statement with its parameters in their places."""

    def filled(match: re.Match[str]) -> str:
        parameter = PARAMETER.fullmatch(match["word"] or "")
        if parameter is None or int(parameter[1]) > len(step.parameters):
            return match[0]
        value = step.parameters[int(parameter[1]) - 1]
        return "NULL" if value is None else "'" + value.replace("'", "''") + "'"

    return WORDS.sub(filled, step.sql).strip().rstrip("; ")
