"""An exploration as one HTML file: verdicts by level, and the schedule that goes wrong, one column a session."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined

from iobound.records.race import Execution, Report, Step, letter


def render(report: Report) -> str:
    """Return the report as an HTML document without scripts, to be mailed and attached."""
    environment = Environment(
        loader=PackageLoader("iobound.report"), autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    environment.filters["letter"] = letter
    example = next((level for level in report.levels if level.example), None)
    return environment.get_template("race.html").render(
        report=report,
        level=example,
        violation=example.example if example else None,
        rows=rows(example.example.execution) if example and example.example else [],
        letter=letter,
        values=values,
    )


def rows(execution: Execution) -> list[tuple[int | None, Step, bool]]:
    """Return the rows of a schedule: (number, step, whether the answer is shown with it).

    A step that was blocked has a second row, without a number, where it was answered.
    """
    shown: list[tuple[int | None, Step, bool]] = []
    for place, step in enumerate(execution.steps):
        shown.append((place + 1, step, step.answered == place + 1))
        shown += [(None, late, True) for late in execution.steps[:place] if late.answered == place + 1]
    return shown


def values(step: Step) -> str:
    """Return what a step was answered: its first rows, or how many it changed."""
    if step.failure:
        return f"{step.failure.code} {step.failure.kind}: {step.failure.message}"
    if step.columns:
        read = ["(" + ", ".join("NULL" if value is None else value for value in row) + ")" for row in step.rows[:5]]
        return " ".join(read) or "no rows"
    return (
        "" if step.affected is None or step.kind != "statement" else f"{step.affected} row{'s' * (step.affected != 1)} changed"
    )
