"""The report on the terminal: the same tables, compact, and plain where it is piped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

from rich import box
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from iobound.records import BoundBy, Judgement, RunHeader, View
from iobound.report import groups, outline, words
from iobound.report.groups import Group
from iobound.report.sections import Section

PLAIN_WIDTH = 100
FIGURES = 71  # characters that the figures of a row take; the rest is for the target's name

COLOURS: dict[BoundBy, str] = {
    "target-cpu": "blue",
    "workers": "magenta",
    "pool": "magenta",
    "database-cpu": "green",
    "database-locks": "green",
    "network": "cyan",
    "concurrency": "default",
    "generator": "yellow",
    "errors": "red",
    "noise": "yellow",
    "unknown": "yellow",
}


def console(file: IO[str] | None = None) -> Console:
    """Return a console on `file` (default: standard output), wide enough for the tables where that is no terminal."""
    made = Console(file=file)
    if not made.is_terminal:
        made.width = max(made.width, PLAIN_WIDTH)
    return made


def render(header: RunHeader, judgement: Judgement, console: Console) -> None:
    """Print verdict, results, published figures, present findings and what wasn't measured."""
    for part in _parts(header, judgement, max(16, console.width - FIGURES)):
        console.print(part)


def _parts(header: RunHeader, judgement: Judgement, width: int) -> Iterator[RenderableType]:
    yield _text(words.first_line(judgement.verdict), "bold")
    for line in words.other_lines(judgement.verdict):
        yield _text(line)
    for group in groups.group(judgement, header.plan):
        yield _heading(group.title)
        for view in group.views:
            yield from _results(header, judgement, group, view, width)
    yield from _published(judgement, width)
    for each in outline.sections(header, judgement):
        yield from section(each)
    relay = words.relay(header.environment)
    if relay:
        yield _text(f"\nThe relay that injects round-trip times: {relay}.", "dim")
    present = [finding for finding in judgement.findings if finding.status == "present"]
    if present:
        yield _heading("Findings")
    for finding in present:
        yield _text(f"\n{finding.statement}")
        if finding.advice:
            yield _item(f"→ {finding.advice}", "bold")
    if judgement.not_measured:
        yield _heading("Not measured")
    planned = {cell.id: cell for cell in header.plan.cells}
    for failure in judgement.not_measured:
        yield _item(words.failure(failure, planned.get(failure.cell)))


def _results(header: RunHeader, judgement: Judgement, group: Group, view: View, width: int) -> Iterator[RenderableType]:
    cells = group.of(view)
    levels = {cell.concurrency for cell in cells}
    over = f", {words.connections(cells[0].concurrency)}" if len(levels) == 1 else ""
    yield _text(f"\n{words.VIEW[view]}{over}")
    table = _table("target", *(["conn."] if len(levels) > 1 else []), "requests/s", "p50 ms", "p99 ms", "CPU µs", "bound by")
    for cell in cells:
        against, _, _ = groups.against(cell, header.plan, judgement).partition(":")
        figures = [
            f"{words.rate(cell)}\n{against}",
            words.latency(cell, "p50"),
            words.latency(cell, "p99"),
            f"{words.target_cpu(cell)}\ndb {words.database_cpu(cell)}" if group.services else words.target_cpu(cell),
        ]
        if len(levels) > 1:
            figures.insert(0, str(cell.concurrency))
        note = group.note(cell)
        name = [*words.wrapped(cell.target, width), *(words.wrapped(note, width) if note else [])]
        table.add_row(_text("\n".join(name)), *map(_text, figures), _bound(cell.bound_by), style="" if cell.valid else "dim")
    yield table
    for note in groups.notes(group, view, header.plan, judgement):
        yield _item(note)
    for asked, control in group.controls_of(view):
        yield _item(f"A against A{f', {asked}' if len(levels) > 1 else ''}: {words.control(control)}")


def _published(judgement: Judgement, width: int) -> Iterator[RenderableType]:
    ratios, figures = groups.published(judgement)
    if ratios:
        yield _heading("Published ratios, and here")
        yield _text(words.RATIOS, "dim")
        table = _table("ratio", "published", "Locust here", "iobound here", "and so")
        for row in ratios:
            table.add_row(
                _text(row.own.statement),
                _text(words.published(row.own)),
                _text(words.said(row.other, row.other_cell)),
                _text(words.here(row.own, row.own_cell).replace(" [", "\n[")),
                _text(words.outcome(row.own)),
            )
        yield table
    if figures:
        yield _heading("Published figures, and here")
        yield _text(words.FIGURES, "dim")
        table = _table("program", "published", "Locust here", "iobound here", "times", "bound by")
        for row in figures:
            table.add_row(
                _text("\n".join(words.wrapped(row.own.statement, width))),
                _text(words.published(row.own)),
                _text(words.said(row.other, row.other_cell)),
                _text(words.here(row.own, row.own_cell)),
                _text(words.times(row.own, row.own_cell)),
                _bound(row.own.bound_here) if row.own.here else "–",
            )
        yield table


def section(of: Section) -> Iterator[RenderableType]:
    """Yield the text and the tables of a section."""
    yield _heading(of.title)
    for line in of.text:
        yield _text(line)
    for grid in (grid.brief() for grid in of.grids):
        yield _text(f"\n{grid.title}")
        table = _table()
        for number, column in enumerate(grid.columns):
            table.add_column(column, overflow="fold", justify="right" if number in grid.numbers else "left")
        for number, row in enumerate(grid.rows):
            table.add_row(*map(_text, row), style="dim" if number in grid.faint else "")
        if grid.rows:
            yield table
        for note in grid.notes:
            yield _item(note)


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    for column in columns:
        table.add_column(
            column,
            overflow="fold",
            justify="right" if column.endswith((" ms", " µs", "conn.", "published", "times")) else "left",
        )
    return table


def _heading(text: str) -> Text:
    heading = Text("\n")
    return heading.append_text(_text(text, "bold underline"))


def _item(text: str, style: str = "") -> Padding:
    return Padding(_text(text, style), (0, 0, 0, 2))


def _bound(value: BoundBy | None) -> Text:
    return _text(words.bound(value), COLOURS[value] if value else "dim")


def _text(text: str, style: str = "") -> Text:
    """Take text as it is: no markup, no control sequences that a program under test may have printed."""
    return Text("".join(character for character in text if character.isprintable() or character == "\n"), style)
