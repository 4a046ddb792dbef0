"""The report in Markdown, to be pasted into an issue or a message."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import PurePath

from iobound.records import CellSummary, Judgement, RunHeader
from iobound.report import groups, words
from iobound.report.groups import Group


def render(header: RunHeader, judgement: Judgement, run: str | PurePath) -> str:
    """Return verdict, results, published figures, present findings, what wasn't measured, and how it was measured."""
    cells = {cell.id: cell for cell in judgement.cells}
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
    lines += _published(judgement, cells)
    present = [finding for finding in judgement.findings if finding.status == "present"]
    if present:
        lines += ["### Findings", ""]
        for finding in present:
            lines.append(f"- **{_text(finding.statement)}** {_text(finding.advice or '')}".rstrip())
            lines += [f"  - {_text(words.evidence(each, cells.get(each.cell or '')))}" for each in finding.evidence]
        lines.append("")
    if judgement.not_measured:
        lines += ["### Not measured", ""]
        lines += [f"- {_text(words.failure(failure, planned.get(failure.cell)))}" for failure in judgement.not_measured]
        lines.append("")
    services = {service.name: service.version for service in header.environment.services}
    environment = [words.moment(header.created), words.labels(header.environment.host), words.labels(services)]
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


def _published(judgement: Judgement, cells: dict[str, CellSummary]) -> list[str]:
    if not judgement.claims:
        return []
    rows = []
    for claim in judgement.claims:
        cell = cells.get(claim.cell or "")
        bound = words.bound(claim.bound_here) if claim.here else "–"
        result = f"{words.HOLDS[claim.result]}: {claim.because}"
        rows.append((claim.statement, words.published(claim), words.here(claim, cell), words.times(claim, cell), bound, result))
    columns = ("statement", "published", "here", "ratio", "what bound it here", "and so")
    return ["### Published and here", "", *_table(columns, "lrrrll", rows), ""]


def _table(columns: Iterable[str], alignment: str, rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"|{'|'.join('---:' if side == 'r' else '---' for side in alignment)}|"
    for row in rows:
        yield f"| {' | '.join(_text(value) for value in row)} |"


def _text(value: str) -> str:
    """Escape what Markdown or HTML would take for more than text, on one line."""
    return re.sub(r"([\\`*_|<~]|(?<=])\()", r"\\\1", " ".join(value.split()))
