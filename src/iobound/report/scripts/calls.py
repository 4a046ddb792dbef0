"""What primitives cost: one row each, a column an interpreter; and how many times a plain call that is."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from iobound.records import AnySummary, CallSummary, Interval, Judgement, RunHeader
from iobound.report import sections, words
from iobound.report.drawing import FULL, Canvas, Figure, Row, Table
from iobound.report.sections import Grid, Section

Name = tuple[str, str | None]


def section(header: RunHeader, judgement: Judgement, summaries: Sequence[AnySummary]) -> Section:
    """Return the section of ``calls``."""
    of = [each for each in summaries if isinstance(each, CallSummary)]
    pythons = list(dict.fromkeys(each.python or "" for each in of))
    claimed = sections.claims(judgement, "calls")
    return Section(
        title="What calling, awaiting and switching cost",
        text=[
            "Nanoseconds of one operation, the loop around it subtracted; each file of them ran in processes of its own. "
            f"All ran on {words.cores(header.environment.target_cores)}, where both ends of a queue or socket take turns."
        ],
        grids=[*([claimed] if claimed else []), _grid(of, pythons), _meanings(of)],
        figures=lambda: [_figure(of, pythons)],
    )


def _names(of: Sequence[CallSummary]) -> list[Name]:
    """Return the primitives from the cheapest on, by the dearest that each is on any interpreter."""
    dearest: dict[Name, float] = {}
    for each in of:
        name = each.primitive, each.loop
        dearest[name] = max(dearest.get(name, 0.0), each.ns.estimate if each.ns else 0.0)
    return sorted(dearest, key=lambda name: dearest[name])


def _called(name: Name) -> str:
    primitive, loop = name
    return f"{primitive} ({loop})" if loop else primitive


def _grid(of: Sequence[CallSummary], pythons: Sequence[str]) -> Grid:
    found = {(each.primitive, each.loop, each.python or ""): each for each in of}
    rows = []
    for name in _names(of):
        measured = [found.get((*name, python)) for python in pythons]
        rows.append([_called(name), *(_cost(each) for each in measured), *(_times(each) for each in measured)])
    return Grid(
        title="ns an operation, and times a plain call",
        columns=["operation", *(f"ns on {python}" for python in pythons), *(f"calls on {python}" for python in pythons)],
        rows=rows,
        numbers=range(1, 1 + 2 * len(pythons)),
        notes=[f"Python {python}: {words.labels(ran)}" for python, ran in _ran(of).items()],
    )


def _cost(summary: CallSummary | None) -> str:
    if summary is None:
        return "–"
    return words.interval(summary.ns) if summary.valid else f"failed: {summary.invalid_because}"


def _times(summary: CallSummary | None) -> str:
    relative: Interval | None = summary.relative if summary else None
    return "–" if relative is None else f"{words.number(relative.estimate)}x"


def _ran(of: Sequence[CallSummary]) -> dict[str, dict[str, str]]:
    """Return what ran on each interpreter, event loops apart."""
    ran: dict[str, dict[str, str]] = {}
    for each in of:
        ran.setdefault(each.python or "", {}).update({name: said for name, said in each.ran.items() if name != "loop"})
    return ran


def _meanings(of: Sequence[CallSummary]) -> Grid:
    """Say what one operation of each primitive is."""
    what = {(each.primitive, each.what): None for each in of if each.what}
    return Grid(title="What one operation is", columns=["operation", "is"], rows=[list(pair) for pair in sorted(what)])


def _figure(of: Sequence[CallSummary], pythons: Sequence[str]) -> Figure:
    names = [_called(name) for name in _names(of)]
    rows: list[Row] = [
        {"operation": _called((each.primitive, each.loop)), "python": f"Python {each.python}", "ns": each.ns.estimate}
        for each in of
        if each.ns and each.ns.estimate > 0
    ]
    canvas = Canvas()
    chart = (
        canvas.chart(rows)
        .mark_point(filled=True, size=36, opacity=0.85)
        .encode(
            x=alt.X("ns:Q", scale=alt.Scale(type="log"), title="ns an operation (logarithmic)"),
            y=alt.Y("operation:N", sort=names, title=None, axis=alt.Axis(labelLimit=200, labelOverlap=False)),
            shape=alt.Shape(
                "python:N", sort=[f"Python {python}" for python in pythons], legend=alt.Legend(title=None, orient="top")
            ),
            color=alt.value("var(--ink)"),
        )
        .properties(width=FULL - 140, height=13 * len(names))
    )
    return Figure(
        title="Cost of one operation",
        reading="Each step to the right is ten times as much.",
        svg=canvas.svg(chart),
        table=Table(
            ["operation", "python", "ns"], [[row["operation"], row["python"], words.number(row["ns"])] for row in rows]
        ),
    )
