"""Charts of a group of cells.

One rule for colour: it says what bound the figure, in every chart and badge. Who a figure belongs to is said by its place
and name. Invalid cells are named, never drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import altair as alt
from markupsafe import Markup

from iobound.records import BoundBy, CellSummary, View
from iobound.report import words
from iobound.report.drawing import FULL, TALL, Canvas, Figure, Plot, Row, Table, side_by_side
from iobound.report.groups import Group

BARS, WAITS = 276, 95
LOW = 72  # px: height of a plot

Kind = Literal["throughput", "cpu", "latency", "progress"]

CPU_PARTS = {
    "target_user": ("target, user", "var(--target-cpu)"),
    "target_system": ("target, system", "var(--target-system)"),
    "database": ("database", "var(--database-cpu)"),
    "generator": ("generator", "var(--generator)"),
    "other": ("the rest", "var(--rest)"),
}


def draw(kind: Kind, group: Group, view: View) -> Figure | None:
    """Draw one kind of chart for the cells of a group in one view; ``None`` where they have nothing to show in it."""
    return {"throughput": _throughput, "cpu": _cpu, "latency": _latency, "progress": _progress}[kind](group, view)


# --- the charts -----------------------------------------------------------------------------------------------------


def _throughput(group: Group, view: View) -> Figure | None:
    cells = group.of(view) if view == "capacity" else []
    rows = [
        {
            "name": group.name(cell),
            "bound": words.bound(cell.bound_by),
            "concurrency": cell.concurrency,
            "rate": rate.estimate,
            "low": None if cell.at_least else rate.low,
            "high": None if cell.at_least else rate.high,
        }
        for cell in cells
        if cell.valid and (rate := cell.requests_per_second)
    ]
    if not rows:
        return None
    table = Table(
        ["target", "connections", "requests/s [95 % interval]", "bound by"],
        [[group.name(c), str(c.concurrency), words.rate(c), words.bound(c.bound_by)] for c in cells],
    )
    canvas = Canvas()
    if len({row["concurrency"] for row in rows}) > 1:
        title, chart = "Throughput over concurrency", _over_concurrency(canvas, rows)
        reading = "Points with 95 % intervals, on one scale; in grey the other targets. A triangle means at least."
    else:
        title, chart = "Throughput", _whiskers(canvas, rows)
        reading = "Points with 95 % intervals. A triangle means at least."
    return _figure(title, reading, canvas.svg(chart), table, group, cells)


def _whiskers(canvas: Canvas, rows: list[Row]) -> Plot:
    base = canvas.chart(rows).properties(width=FULL, height=alt.Step(36))
    y, title = _rows(), "requests/s"
    interval = base.transform_filter(_HAS_INTERVAL).mark_rule(strokeWidth=2, yOffset=6)
    interval = interval.encode(x=alt.X("low:Q", title=title), x2="high:Q", y=y, color=_by_bound())
    point = base.mark_point(filled=True, size=64, opacity=1, yOffset=6).encode(
        x=alt.X("rate:Q", title=title, scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=6)),
        y=y,
        color=_by_bound(),
        shape=_by_shape(),
    )
    return interval + point + _names(base, y) + _bounds(base, y, FULL)


def _over_concurrency(canvas: Canvas, rows: list[Row]) -> Plot:
    levels = sorted({row["concurrency"] for row in rows})
    x = alt.X(
        "concurrency:Q",
        title="connections",
        scale=alt.Scale(type="log", nice=False, padding=8),
        axis=alt.Axis(values=levels, format=",d", grid=False),
    )
    title = "requests/s"
    y = alt.Y("rate:Q", title=title, scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=4))
    others = canvas.chart(rows).mark_line(color="var(--context)", strokeWidth=1).encode(x=x, y=y, detail="name:N")

    def panel(name: str) -> Plot:
        base = canvas.chart([row for row in rows if row["name"] == name])
        line = base.mark_line(color="var(--muted)", strokeWidth=1.5).encode(x=x, y=y)
        interval = base.transform_filter(_HAS_INTERVAL).mark_rule(strokeWidth=1.5)
        interval = interval.encode(x=x, y=alt.Y("low:Q", title=title), y2="high:Q", color=_by_bound())
        point = base.mark_point(filled=True, size=52, opacity=1).encode(x=x, y=y, color=_by_bound(), shape=_by_shape())
        return (others + line + interval + point).properties(title=alt.TitleParams(text=words.wrapped(name, 30)))

    return side_by_side([panel(name) for name in dict.fromkeys(row["name"] for row in rows)])


def _latency(group: Group, view: View) -> Figure | None:
    cells = group.of(view)
    shown = [cell for cell in cells if cell.valid and cell.percentile_curve]
    if not shown:
        return None
    curves = {cell.id: cell.percentile_curve or [] for cell in shown}
    rows = {
        name: [{"cell": name, "slower": 100 - percentile, "ms": ms} for percentile, ms in curve if percentile < 100]
        for name, curve in curves.items()
    }
    x = alt.X(
        "slower:Q",
        title="percentile of requests",
        scale=alt.Scale(type="log", reverse=True, nice=False),
        axis=alt.Axis(values=[50, 10, 1, 0.1, 0.01], labelExpr="'p' + format(100 - datum.value, '.6~r')", grid=False),
    )
    ticks = [digit * 10.0**power for power in range(-3, 6) for digit in (1, 2, 5)]
    y = alt.Y(
        "ms:Q",
        title="latency, ms",
        scale=alt.Scale(type="log", nice=False, padding=6),
        axis=alt.Axis(values=ticks, format="~g"),
    )
    canvas = Canvas()
    others = canvas.chart([row for curve in rows.values() for row in curve])
    others = others.mark_line(color="var(--context)", strokeWidth=1).encode(x=x, y=y, detail="cell:N")

    names = {cell.id: group.name(cell) for cell in shown}
    several = len(set(names.values())) < len(shown)

    def line(cell: CellSummary) -> Plot:
        drawn = canvas.chart(rows[cell.id]).mark_line(color=_colour(cell.bound_by)).encode(x=x, y=y)
        return drawn + _end(canvas, rows[cell.id][-1:], cell).encode(x=x, y=y) if several else drawn

    chart = _panels(names, shown, line, others)
    table = _columns(group, shown, "percentile", {n: {f"p{p:g}": words.number(ms) for p, ms in c} for n, c in curves.items()})
    reading = "Both axes are logarithmic; in grey the others."
    return _figure(f"Latency percentiles, {_of(view)}", reading, canvas.svg(chart), table, group, cells)


def _progress(group: Group, view: View) -> Figure | None:
    cells = group.of(view)
    shown = [cell for cell in cells if cell.valid and cell.progress]
    if not shown:
        return None
    rate = view == "capacity"
    rows = {
        cell.id: [
            {"at": at, "launch": launch, "value": responses if rate else slowest, "failed": failed}
            for at, launch, responses, failed, slowest in zip(
                p.at_s, p.launch, p.requests_per_second, p.failures_per_second, p.latency_max_ms, strict=True
            )
        ]
        for cell in shown
        if (p := cell.progress)
    }
    x = alt.X("at:Q", title="seconds measured", scale=alt.Scale(nice=False), axis=alt.Axis(tickCount=4, grid=False))
    y = alt.Y(
        "value:Q",
        title="requests/s" if rate else "largest, ms",
        scale=alt.Scale(zero=True),
        axis=alt.Axis(tickCount=4),
    )
    canvas = Canvas()

    def line(cell: CellSummary) -> Plot:
        own = canvas.chart(rows[cell.id])
        drawn = own.mark_line(color=_colour(cell.bound_by), strokeWidth=1.2).encode(x=x, y=y, detail="launch:N")
        failed = [row for row in rows[cell.id] if row["failed"]]
        if not failed:
            return drawn
        return drawn + canvas.chart(failed).mark_tick(color="var(--errors)", orient="vertical").encode(x=x, y=alt.value(4))

    def text(row: Row) -> str:
        value = "–" if row["value"] is None else words.number(row["value"])
        return f"{value} ({words.number(row['failed'])} failed/s)" if row["failed"] else value

    chart = _panels(_told_apart(group, shown), shown, line, height=LOW)
    steps = {name: {f"{row['at']:.2f}": text(row) for row in own} for name, own in rows.items()}
    title = "Throughput over time" if rate else "Largest latency over time"
    reading = "A gap is a new launch, a red tick at the top a failure."
    return _figure(f"{title}, {_of(view)}", reading, canvas.svg(chart), _columns(group, shown, "second", steps), group, cells)


def _cpu(group: Group, view: View) -> Figure | None:
    cells = group.of(view)
    shown = [cell for cell in cells if cell.valid and cell.cpu_us_per_request]
    if not shown:
        return None
    names = _told_apart(group, shown)
    parts = [
        {"name": names[cell.id], "part": label, "order": order, "us": value.estimate}
        for cell in shown
        for order, (part, (label, _)) in enumerate(CPU_PARTS.items())
        if (value := getattr(cell.cpu_us_per_request, part)) is not None
    ]
    waits = [
        {
            "name": names[cell.id],
            "bound": words.bound(cell.bound_by),
            "us": cell.wait_us_per_request.estimate if cell.wait_us_per_request else None,
        }
        for cell in shown
    ]
    canvas = Canvas()
    y = _rows()
    colours = dict(CPU_PARTS.values())
    bars = (
        canvas.chart(parts)
        .mark_bar(size=12, yOffset=6)
        .encode(
            x=alt.X("us:Q", title="CPU, µs a request", axis=alt.Axis(tickCount=5)),
            y=y,
            color=alt.Color(
                "part:N",
                sort=None,
                scale=alt.Scale(domain=list(colours), range=list(colours.values())),
                legend=alt.Legend(title=None, orient="top", columns=3, symbolType="square", columnPadding=8),
            ),
            order="order:Q",
        )
    )
    cpu = (bars + _names(canvas.chart(waits), y)).properties(width=BARS, height=alt.Step(36))
    wait = canvas.chart(waits)
    wait_bars = wait.mark_bar(size=12, yOffset=6, color="var(--wait)").encode(
        x=alt.X("us:Q", title="wait (remainder), µs", axis=alt.Axis(tickCount=2)), y=y
    )
    beside = (wait_bars + _bounds(wait, y, WAITS)).properties(width=WAITS, height=alt.Step(36))
    chart = alt.hconcat(cpu, beside, spacing=16).resolve_scale(color="independent")
    table = Table(
        ["target", *(f"{label}, µs" for label in colours), "wait (remainder), µs", "bound by"],
        [
            [
                names[cell.id],
                *(words.interval(getattr(cell.cpu_us_per_request, part)) for part in CPU_PARTS),
                words.interval(cell.wait_us_per_request),
                words.bound(cell.bound_by),
            ]
            for cell in shown
        ],
    )
    reading = "Who spent CPU on a request; beside it the remainder of the response time: waiting, and what isn't accounted for."
    return _figure(f"CPU a request, {_of(view)}", reading, canvas.svg(chart), table, group, cells)


# --- their parts ----------------------------------------------------------------------------------------------------


_HAS_INTERVAL = "datum.low !== null"


def _of(view: View) -> str:
    return "at capacity" if view == "capacity" else "at a fixed rate"


def _colour(bound_by: BoundBy | None) -> str:
    return f"var(--{bound_by or 'unknown'})"


def _by_bound() -> alt.Color:
    names = [bound.label for bound in words.BOUNDS.values()]
    return alt.Color("bound:N", scale=alt.Scale(domain=names, range=[_colour(value) for value in words.BOUNDS]), legend=None)


def _by_shape() -> alt.Shape:
    names = [bound.label for bound in words.BOUNDS.values()]
    shapes = ["triangle-right" if value == "generator" else "circle" for value in words.BOUNDS]
    return alt.Shape("bound:N", scale=alt.Scale(domain=names, range=shapes), legend=None)


def _rows() -> alt.Y:
    return alt.Y("name:N", sort=None, axis=None, scale=alt.Scale(paddingInner=0, paddingOuter=0.2))


def _names(base: Plot, y: alt.Y) -> Plot:
    return base.mark_text(align="left", dy=-8, fontSize=11, limit=FULL - 70, color="var(--ink)").encode(
        x=alt.value(0), y=y, text="name:N"
    )


def _bounds(base: Plot, y: alt.Y, right: int) -> Plot:
    return base.mark_text(align="right", dy=-8, fontSize=11).encode(x=alt.value(right), y=y, text="bound:N", color=_by_bound())


def _end(canvas: Canvas, row: list[Row], cell: CellSummary) -> Plot:
    return canvas.chart(row).mark_text(
        align="left", dx=3, fontSize=9.5, color=_colour(cell.bound_by), text=f"{cell.concurrency}"
    )


def _panels(
    names: dict[str, str],
    cells: list[CellSummary],
    line: Callable[[CellSummary], Plot],
    others: Plot | None = None,
    height: int = TALL,
) -> Plot:
    """Draw one plot for each of `names` (by cell id), in it a line for each of its cells."""
    panels: dict[str, list[CellSummary]] = {}
    for cell in cells:
        panels.setdefault(names[cell.id], []).append(cell)
    plots = []
    for name, own in panels.items():
        layers = [line(cell) for cell in own]
        if others is not None and 1 < len(panels) <= 6:
            layers.insert(0, others)
        bounds = dict.fromkeys(cell.bound_by for cell in own)
        title = alt.TitleParams(
            text=words.wrapped(name, 30),
            subtitle=", ".join(words.bound(bound) for bound in bounds),
            subtitleColor=_colour(own[0].bound_by) if len(bounds) == 1 else "var(--muted)",
        )
        plots.append(alt.layer(*layers).properties(title=title))
    return side_by_side(plots, height)


def _told_apart(group: Group, cells: list[CellSummary]) -> dict[str, str]:
    """Return the names of cells by id, with their concurrency where it differs."""
    several = len({cell.concurrency for cell in cells}) > 1
    return {cell.id: f"{group.name(cell)}, c={cell.concurrency}" if several else group.name(cell) for cell in cells}


def _columns(group: Group, cells: list[CellSummary], index: str, values: dict[str, dict[str, str]]) -> Table:
    """Lay the series of several cells side by side."""
    names = _told_apart(group, cells)
    steps = dict.fromkeys(step for series in values.values() for step in series)
    return Table(
        [index, *(f"{names[cell.id]}: {words.bound(cell.bound_by)}" for cell in cells)],
        [[step, *(values[cell.id].get(step, "") for cell in cells)] for step in steps],
    )


def _figure(title: str, reading: str, svg: Markup, table: Table, group: Group, cells: list[CellSummary]) -> Figure:
    bounds = dict.fromkeys(cell.bound_by or "unknown" for cell in cells if cell.valid)
    names = _told_apart(group, cells)
    suspect = [f"{names[c.id]}: {words.bound(c.bound_by)}" for c in cells if c.valid and c.bound_by in words.SUSPECT]
    missing = [f"{names[c.id]}: {c.invalid_because}" for c in cells if not c.valid]
    return Figure(title, reading, svg, table, [value for value in words.BOUNDS if value in bounds], suspect, missing)
