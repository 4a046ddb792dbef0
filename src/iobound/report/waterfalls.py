"""A walk from one target to another: what each step is worth, as a table and as a waterfall."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from iobound.records import BoundBy, Interval, StepRatio, Waterfall
from iobound.report import words
from iobound.report.drawing import FULL, Canvas, Figure, Row, Table
from iobound.report.sections import Grid, Section

COLUMNS = ["factor", "from", "to", "ratio [95 %]", "bound by"]
STEP, BARS = 34, 270  # px: height of a row, width of the bars; their figures stand beside them
TICKS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10, 20, 50, 100, 200, 500]  # as far as they fit
LONGEST = 66  # characters above a bar
OF_THE_TARGET: frozenset[BoundBy | None] = frozenset({"target-cpu", "workers", "pool"})


def section(fall: Waterfall) -> Section:
    """Return the section of one walk."""
    grids = [_grid("What each step is worth", fall.steps, _agreement(fall))]
    if fall.backwards:
        grids.append(_grid("The other way round", fall.backwards, _order(fall)))
    return Section(
        title=f"From {fall.first} to {fall.last}",
        text=[
            f"Workload {fall.workload}. Each step was measured by itself, its two sides interleaved: the ratio is the "
            "throughput after it over that before it.",
            *(f"{note}." for note in fall.notes),
        ],
        grids=grids,
        figures=lambda: [_figure(fall)] if any(step.ratio for step in fall.steps) else [],
    )


def _agreement(fall: Waterfall) -> list[str]:
    if len(fall.steps) == 1 and not fall.reason:
        return []  # the step is the direct comparison
    because = f" ({fall.reason})" if fall.reason else ""
    bounds = f", bound by {_bounds(fall.bound_by)}" if fall.direct else ""
    direct = f"Measured directly: {words.interval(fall.direct, 'x')}{bounds}{because}"
    lines = [f"{direct}. The product of the steps: {words.interval(fall.product, 'x')}."]
    if fall.interaction:
        missed = f"Interaction: the direct ratio is {words.interval(fall.interaction, 'x')} of the product"
        lines.append(f"{missed}; {fall.named}.")
    elif fall.direct and fall.product and fall.direct.low is not None and fall.product.low is not None:
        lines.append("The two agree within their intervals.")
    return lines


def _order(fall: Waterfall) -> list[str]:
    if fall.disagreeing:
        return [f"The order matters: {fall.named}."]
    return ["No step is worth another ratio in this order, within the intervals."]


def _grid(title: str, steps: Sequence[StepRatio], notes: Sequence[str]) -> Grid:
    weak: dict[str, list[str]] = {}
    for step in steps:
        if step.reason:
            weak.setdefault(step.reason, []).append(step.factor)
        elif not OF_THE_TARGET.intersection(step.bound_by):
            limit = f"the target wasn't the limit, before or after, but {_bounds(step.bound_by)}"
            weak.setdefault(limit, []).append(step.factor)
    everything = len(steps) > 1 and [len(steps)] == [len(names) for names in weak.values()]
    reasons = [f"{'All steps' if everything else ', '.join(dict.fromkeys(names))}: {why}." for why, names in weak.items()]
    untold = [number for number, step in enumerate(steps) if step.ratio is None]
    return Grid(title, COLUMNS, [_row(step) for step in steps], numbers=(3,), faint=untold, notes=[*notes, *reasons])


def _row(step: StepRatio) -> list[str]:
    return [step.factor, step.before, step.after, words.interval(step.ratio, "x"), _bounds(step.bound_by)]


def _bounds(values: Sequence[BoundBy | None]) -> str:
    """Write what bound the two sides, once where it is the same."""
    return " → ".join(dict.fromkeys(map(words.bound, values))) or "–"


def _figure(fall: Waterfall) -> Figure:
    rows: list[Row] = []
    reached = 1.0
    for step in fall.steps:
        if step.ratio:
            rows.append(_bar(len(rows), _name(step), reached, step.ratio, step.bound_by))
            reached = rows[-1]["end"]
    if fall.direct and len(fall.steps) > 1:
        rows.append(_bar(len(rows), "measured directly", 1.0, fall.direct, fall.bound_by))
    canvas = Canvas()
    base = canvas.chart(rows).properties(width=FULL, height=alt.Step(STEP))
    y = alt.Y("place:O", axis=None)
    x = alt.X(
        "start:Q",
        title=f"times the throughput of {fall.first}",
        scale=alt.Scale(type="log", nice=False, zero=False, padding=6, range=[0, BARS]),
        axis=alt.Axis(grid=False, offset=4, values=TICKS),
    )
    colour = alt.Color("colour:N", scale=None)
    bars = base.mark_bar(height=10, yOffset=8, opacity=0.75).encode(x=x, x2="end:Q", y=y, color=colour)
    ends = base.mark_tick(height=14, thickness=2, yOffset=8).encode(x="end:Q", y=y, color=colour)
    intervals = base.transform_filter("datum.low !== null").mark_rule(strokeWidth=1.5, yOffset=8)
    intervals = intervals.encode(x="low:Q", x2="high:Q", y=y, color=alt.value("var(--ink)"))
    names = base.mark_text(align="left", baseline="bottom", dy=-1, limit=FULL).encode(
        x=alt.value(0), y=y, text="name:N", color=alt.value("var(--ink)")
    )
    values = base.mark_text(align="right", baseline="middle", dy=8).encode(
        x=alt.value(FULL), y=y, text="text:N", color=alt.value("var(--ink)")
    )
    return Figure(
        title="Waterfall",
        reading="Each bar leads from the throughput before a step to that after it, which a mark and the step's interval show.",
        svg=canvas.svg(bars + ends + intervals + names + values),
        table=Table(COLUMNS, [_row(step) for step in fall.steps]),
        bounds=[bound for bound in words.BOUNDS if bound in {row["bound"] for row in rows}],
    )


def _bar(place: int, name: str, start: float, ratio: Interval, bounds: Sequence[BoundBy | None]) -> Row:
    bound = (bounds[-1] if bounds else None) or "unknown"
    return {
        "place": place,
        "name": name,
        "start": start,
        "end": start * ratio.estimate,
        "low": None if ratio.low is None else start * ratio.low,
        "high": None if ratio.high is None else start * ratio.high,
        "bound": bound,
        "colour": f"var(--{bound})",
        "text": words.interval(ratio, "x"),
    }


def _name(step: StepRatio) -> str:
    whole = f"{step.factor}: {step.before} to {step.after}"
    return whole if len(whole) <= LONGEST else f"{step.factor}: to {step.after}"
