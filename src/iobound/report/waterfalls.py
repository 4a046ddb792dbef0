"""A walk from one target to another: what each step is worth, as a table and as a waterfall."""

from __future__ import annotations

import altair as alt

from iobound.records import StepRatio, Waterfall
from iobound.report import words
from iobound.report.drawing import FULL, Canvas, Figure, Row, Table
from iobound.report.sections import Grid, Section

COLUMNS = ["factor", "from", "to", "ratio [95 %]", "bound by"]
STEP = 30  # px: height of a row


def section(fall: Waterfall) -> Section:
    """Return the section of one walk."""
    grids = [_grid("What each step is worth", fall.steps, _agreement(fall))]
    if fall.backwards:
        disagreeing = [f"Worth another ratio in this order: {', '.join(fall.disagreeing)}."] if fall.disagreeing else []
        same = [] if fall.disagreeing else ["No factor is worth another ratio in this order, within the intervals."]
        grids.append(_grid("The other way round", fall.backwards, disagreeing + same))
    return Section(
        title=f"From {fall.first} to {fall.last}",
        text=[
            f"Workload {fall.workload}. Each step was measured by itself, its two sides interleaved: the ratio is the "
            "throughput after it over that before it.",
            *fall.notes,
        ],
        grids=grids,
        figures=lambda: [_figure(fall)],
    )


def _agreement(fall: Waterfall) -> list[str]:
    lines = [
        f"Measured directly: {words.interval(fall.direct, 'x')}; the product of the steps: {words.interval(fall.product, 'x')}."
    ]
    if fall.interaction:
        lines.append(f"Interaction: direct is {words.interval(fall.interaction, 'x')} of the product; {fall.named}.")
    elif fall.direct and fall.product:
        lines.append("The two agree within their intervals.")
    return lines


def _grid(title: str, steps: list[StepRatio], notes: list[str]) -> Grid:
    weak = [f"{step.factor}: {step.reason}" for step in steps if step.reason]
    return Grid(title, COLUMNS, [_row(step) for step in steps], numbers=(3,), notes=[*notes, *weak])


def _row(step: StepRatio) -> list[str]:
    bounds = " → ".join(dict.fromkeys(words.bound(bound) for bound in step.bound_by))
    return [step.factor, step.before, step.after, words.interval(step.ratio, "x"), bounds]


def _figure(fall: Waterfall) -> Figure:
    rows: list[Row] = []
    reached = 1.0
    for number, step in enumerate(fall.steps):
        if step.ratio is None:
            continue
        after = reached * step.ratio.estimate
        rows.append(
            {
                "place": number,
                "name": f"{step.factor}: {step.before} to {step.after}",
                "start": reached,
                "end": after,
                "colour": "var(--target-cpu)" if after >= reached else "var(--generator)",
                "text": f"{step.ratio.estimate:.2f}x",
            }
        )
        reached = after
    if fall.direct:
        whole: Row = {"place": len(fall.steps), "name": "measured directly", "start": 1.0, "end": fall.direct.estimate}
        rows.append({**whole, "colour": "var(--muted)", "text": f"{fall.direct.estimate:.2f}x"})
    canvas = Canvas()
    base = canvas.chart(rows).properties(width=FULL, height=alt.Step(STEP))
    y = alt.Y("place:O", axis=None)
    x = alt.X("start:Q", title=f"times the throughput of {fall.first}", scale=alt.Scale(type="log", nice=False, padding=24))
    bars = base.mark_bar(height=10, yOffset=6).encode(x=x, x2="end:Q", y=y, color=alt.Color("colour:N", scale=None))
    names = base.mark_text(align="left", baseline="bottom", dy=-1, limit=FULL).encode(
        x=alt.value(0), y=y, text="name:N", color=alt.value("var(--ink)")
    )
    values = base.mark_text(align="right", baseline="bottom", dy=-1).encode(
        x=alt.value(FULL), y=y, text="text:N", color=alt.value("var(--ink)")
    )
    return Figure(
        title="Waterfall",
        reading="Each bar goes from the throughput before a step to that after it, as multiples of the first target's.",
        svg=canvas.svg(bars + names + values),
        table=Table(COLUMNS, [_row(step) for step in fall.steps]),
    )
