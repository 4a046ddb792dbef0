"""The report in Markdown, to be pasted into an issue or a message."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import PurePath

from iobound.records import CellSummary, Judgement, RunHeader
from iobound.report import groups, outline, words
from iobound.report.groups import Group


def render(header: RunHeader, judgement: Judgement, run: str | PurePath) -> str:
    """Return verdict, results, published figures, present findings, what wasn't measured, and how it was measured."""
    planned = {cell.id: cell for cell in header.plan.cells}
    lines = [f"## {_text(words.first_line(judgement.verdict))}", ""]
    for line in words.other_lines(judgement.verdict):
        lines += [_text(line), ""]
    for group in groups.group(judgement, header.plan):
        lines += [f"### {_text(group.title)}", ""]
        for view in group.views:
            lines += [f"{words.VIEWS[view]}.", ""]
            lines += _results(header, judgement, group, group.of(view))
            lines += [""]
            lines += [f"- A against A, {over}: {words.control(control)}" for over, control in group.controls_of(view)]
            lines += [""]
    lines += _published(judgement)
    for section in outline.sections(header, judgement):
        lines += [f"### {_text(section.title)}", "", *(part for line in section.text for part in (_text(line), ""))]
        for grid in (grid.brief() for grid in section.grids):
            alignment = "".join("r" if number in grid.numbers else "l" for number in range(len(grid.columns)))
            lines += [f"**{_text(grid.title)}**", ""]
            lines += [*_table(grid.columns, alignment, grid.rows), ""] if grid.rows else []
            lines += [*(f"- {_text(note)}" for note in grid.notes), ""]
    present = [finding for finding in judgement.findings if finding.status == "present"]
    if present:
        lines += ["### Findings", ""]
        lines += [f"- **{_text(finding.statement)}** {_text(finding.advice or '')}".rstrip() for finding in present]
        lines.append("")
    if judgement.not_measured:
        lines += ["### Not measured", ""]
        lines += [f"- {_text(words.failure(failure, planned.get(failure.cell)))}" for failure in judgement.not_measured]
        lines.append("")
    services = {service.name: service.version for service in header.environment.services}
    environment = [words.moment(header.created), words.labels(header.environment.host), words.labels(services)]
    relay = words.relay(header.environment)
    environment += [f"relay of the round-trip times: {relay}"] if relay else []
    lines += [_text("; ".join(part for part in environment if part)), ""]
    lines += [
        f"`{words.command(header.command).replace('`', '')}` (iobound {_text(header.iobound)}, seed {header.plan.seed})",
        "",
    ]
    return "\n".join(lines)


def _results(header: RunHeader, judgement: Judgement, group: Group, cells: Sequence[CellSummary]) -> Iterator[str]:
    columns: dict[str, Callable[[CellSummary], str]] = {
        "target": group.name,
        "connections": lambda cell: str(cell.concurrency),
        "requests/s [95 %]": words.rate,
        "against the baseline": lambda cell: groups.against(cell, header.plan, judgement),
        "p50, ms": lambda cell: words.latency(cell, "p50"),
        "p99, ms": lambda cell: words.latency(cell, "p99"),
        "target CPU, µs": words.target_cpu,
        "database CPU, µs": words.database_cpu,
        "bound by": lambda cell: f"{words.bound(cell.bound_by)}: {words.why(cell)}",
    }
    return _table(columns, "lrrlrrrrl", [[column(cell) for column in columns.values()] for cell in cells])


def _published(judgement: Judgement) -> list[str]:
    ratios, figures = groups.published(judgement)
    lines = []
    if ratios:
        rows = [
            (
                row.own.statement,
                words.published(row.own),
                words.said(row.other, row.other_cell),
                words.here(row.own, row.own_cell),
                words.outcome(row.own),
            )
            for row in ratios
        ]
        columns = ("ratio", "published", "Locust here", "iobound here [95 %]", "and so")
        lines += ["### Published ratios, and here", "", words.RATIOS, "", *_table(columns, "lrrrl", rows), ""]
    if figures:
        found = [
            (
                row.own.statement,
                words.published(row.own),
                words.said(row.other, row.other_cell),
                words.here(row.own, row.own_cell),
                words.times(row.own, row.own_cell),
                words.bound(row.own.bound_here) if row.own.here else "–",
            )
            for row in figures
        ]
        columns_ = ("program", "published", "Locust here", "iobound here [95 %]", "times", "bound by")
        lines += ["### Published figures, and here", "", words.FIGURES, "", *_table(columns_, "lrrrrl", found), ""]
    return lines


def _table(columns: Iterable[str], alignment: str, rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"|{'|'.join('---:' if side == 'r' else '---' for side in alignment)}|"
    for row in rows:
        yield f"| {' | '.join(_text(value) for value in row)} |"


def _text(value: str) -> str:
    """Escape what Markdown or HTML would take for more than text, on one line."""
    return re.sub(r"([\\`*_|<~]|(?<=])\()", r"\\\1", " ".join(value.split()))
