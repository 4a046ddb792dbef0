"""The bulk load: rows a second over connections by model, CPU a row, and what limited each."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from iobound.records import AnySummary, BulkSummary, Interval, Judgement, RunHeader
from iobound.records.bulk import Phase
from iobound.report import sections, words
from iobound.report.drawing import FULL, Canvas, Figure, Plot, Row, Table, side_by_side
from iobound.report.sections import Grid, Section

PHASES: dict[Phase, str] = {
    "data": "Values (222 INSERTs a line, after two SELECTs)",
    "geo": "Geographical records (one INSERT a line)",
}
CPU_PARTS = {
    "client, user": "var(--target-cpu)",
    "client, system": "var(--target-system)",
    "database": "var(--database-cpu)",
}
PUBLISHED = (  # what measures every published ratio
    "iobound run bulk --connections 15,120,350 --rtt 0,0.3ms --python 2.7,3.8 "
    "--models threads/psycopg2,gevent/psycopg2,asyncio/aiopg"
)
SEEN = 0.05  # sessions: fewer on average aren't shown


def section(header: RunHeader, judgement: Judgement, summaries: Sequence[AnySummary]) -> Section:
    """Return the section of ``bulk``."""
    of = [each for each in summaries if isinstance(each, BulkSummary)]
    claimed = sections.claims(judgement, "bulk", PUBLISHED)
    phases = [(phase, [each for each in of if each.phase == phase]) for phase in PHASES]
    return Section(
        title="Bulk load",
        text=[
            f"{of[0].lines:,} lines of the census are loaded by workers with a connection each: first a record for each line, "
            "then its values. A rate is all rows over all the time. Then the values in the database are added up: a "
            "load that lost a row, or has one twice, has no rate.",
        ],
        grids=[*(_grid(phase, some) for phase, some in phases), *(grid for grid in (_waits(phases[0][1]), claimed) if grid)],
        figures=lambda: [figure for phase, some in phases for figure in (_rates(phase, some), _cpu(phase, some)) if figure],
    )


def _name(each: BulkSummary) -> str:
    unusual = [
        *([f"Python {each.python}"] if each.python else []),
        *([f"{each.rtt_ms:g} ms away"] if each.rtt_ms else []),
        *(["a transaction a line"] if each.transaction == "line" else []),
        *([each.statements] if each.statements != "single" else []),
        *([each.feeder] if each.feeder != "preloaded" else []),
    ]
    return ", ".join([f"{each.model}/{each.driver}", *unusual])


# --- tables ---------------------------------------------------------------------------------------------------------


def _grid(phase: Phase, of: Sequence[BulkSummary]) -> Grid:
    return Grid(
        title=PHASES[phase],
        columns=["model/driver", "connections", "rows/s", "against", "bound by", "client µs", "database µs", "rows a worker"],
        rows=[_row(each) for each in of],
        numbers=(1, 2, 3, 5, 6, 7),
        faint=[number for number, each in enumerate(of) if not each.valid],
        notes=_notes(of),
    )


def _row(each: BulkSummary) -> list[str]:
    return [
        _name(each),
        str(each.connections),
        words.interval(each.rows_per_second) if each.verified else "wrong rows",
        words.interval(each.relative, "x"),
        words.bound(each.bound_by),
        words.interval(each.client_cpu_us_per_row),
        words.interval(each.database_cpu_us_per_row),
        f"{each.rows_least:,} to {each.rows_most:,}",
    ]


def _notes(of: Sequence[BulkSummary]) -> list[str]:
    references = dict.fromkeys(each.relative_to for each in of if each.relative_to)
    because: dict[str, list[str]] = {}
    for each in of:
        if reason := each.invalid_because or each.bound_because:
            because.setdefault(reason, []).append(f"{_name(each)} · {each.connections}")
    return [
        "µs: of CPU a row.",
        *(["Against: " + "; ".join(map(str, references)) + "."] if references else []),
        *(f"{', '.join(names)}: {reason}." for reason, names in because.items()),
        *dict.fromkeys(f"Left out: {bad}." for each in of for bad in each.bad_lines),
    ]


def _waits(of: Sequence[BulkSummary]) -> Grid | None:
    """Return what the sessions did meanwhile, by their mean numbers; ``None`` where none was seen."""
    seen = [each for each in of if each.waits]
    if not seen:
        return None
    return Grid(
        title="What the sessions did while values were loaded (mean numbers), and how long the queue was empty",
        columns=["model/driver", "connections", "waited for the client", "worked", "waited for", "queue empty"],
        rows=[
            [
                _name(each),
                str(each.connections),
                f"{sum(count for what, count in each.waits.items() if what.startswith('Client:')):.1f}",
                f"{each.waits.get('running', 0.0):.1f}",
                _waited(each),
                "–" if each.idle_share is None else f"{each.idle_share:.0%}",
            ]
            for each in seen
        ],
        numbers=(1, 2, 3, 5),
    )


def _waited(each: BulkSummary) -> str:
    """Name what sessions waited for inside the database, what most did first."""
    inside = {what: n for what, n in each.waits.items() if not what.startswith("Client:") and what != "running" and n >= SEEN}
    return ", ".join(f"{what} {count:.1f}" for what, count in sorted(inside.items(), key=lambda item: -item[1])) or "–"


# --- charts ---------------------------------------------------------------------------------------------------------


def _rates(phase: Phase, of: Sequence[BulkSummary]) -> Figure | None:
    """Draw rows a second: over connections where there are several levels, with the colour of what bound them."""
    rows: list[Row] = [
        {
            "name": _name(each),
            "connections": each.connections,
            "rate": rate.estimate,
            "low": rate.low,
            "high": rate.high,
            "bound": f"var(--{each.bound_by or 'unknown'})",
        }
        for each in of
        if each.valid and (rate := each.rows_per_second)
    ]
    if not rows:
        return None
    canvas = Canvas()
    levels = sorted({row["connections"] for row in rows})
    chart = _over_connections(canvas, rows, levels) if len(levels) > 1 else _points(canvas, rows)
    return Figure(
        title=f"{PHASES[phase].partition(' (')[0]}: rows a second",
        reading="Points with 95 % intervals; the colour says what bound them"
        + ("; in grey the others." if levels[1:] else "."),
        svg=canvas.svg(chart),
        table=Table(
            ["model/driver", "connections", "rows/s", "bound by"],
            [[_name(e), str(e.connections), words.interval(e.rows_per_second), words.bound(e.bound_by)] for e in of],
        ),
        bounds=list(dict.fromkeys(each.bound_by for each in of if each.bound_by)),
        suspect=[f"{_name(each)}: {each.bound_because}" for each in of if each.bound_by in words.SUSPECT],
        missing=[f"{_name(each)}: {each.invalid_because}" for each in of if each.invalid_because],
    )


COLOUR = alt.Color("bound:N", scale=None)


def _points(canvas: Canvas, rows: list[Row]) -> Plot:
    base = canvas.chart(rows).properties(width=FULL - 170, height=alt.Step(20))
    y = alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelLimit=230))
    interval = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=1.5)
    interval = interval.encode(x=alt.X("low:Q", title="rows/s"), x2="high:Q", y=y, color=COLOUR)
    point = base.mark_point(filled=True, size=56, opacity=1)
    return interval + point.encode(x=alt.X("rate:Q", title="rows/s", scale=alt.Scale(zero=True)), y=y, color=COLOUR)


def _over_connections(canvas: Canvas, rows: list[Row], levels: list[int]) -> Plot:
    scale = alt.Scale(type="log", nice=False, padding=8)
    x = alt.X("connections:Q", title="connections", scale=scale, axis=alt.Axis(values=levels, format=",d", grid=False))
    y = alt.Y("rate:Q", title="rows/s", scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=4))
    others = canvas.chart(rows).mark_line(color="var(--context)", strokeWidth=1).encode(x=x, y=y, detail="name:N")

    def panel(name: str) -> Plot:
        base = canvas.chart([row for row in rows if row["name"] == name])
        line = base.mark_line(color="var(--muted)", strokeWidth=1.5).encode(x=x, y=y)
        interval = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=1.5)
        interval = interval.encode(x=x, y=alt.Y("low:Q", title="rows/s"), y2="high:Q", color=COLOUR)
        point = base.mark_point(filled=True, size=52, opacity=1).encode(x=x, y=y, color=COLOUR)
        return (others + line + interval + point).properties(title=alt.TitleParams(text=words.wrapped(name, 30)))

    return side_by_side([panel(name) for name in dict.fromkeys(row["name"] for row in rows)])


def _cpu(phase: Phase, of: Sequence[BulkSummary]) -> Figure | None:
    """Draw the CPU a row as bars of who used it."""
    shown = [each for each in of if each.valid and each.client_user_us_per_row]
    rows: list[Row] = [
        {"name": f"{_name(each)} · {each.connections}", "part": part, "us": used.estimate, "order": number}
        for each in shown
        for number, (part, used) in enumerate(_parts(each).items())
        if used
    ]
    if not rows:
        return None
    canvas = Canvas()
    bars = canvas.chart(rows).mark_bar(size=12).properties(width=FULL - 170, height=alt.Step(20))
    chart = bars.encode(
        x=alt.X("us:Q", title="µs of CPU a row", stack=True),
        y=alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelLimit=230)),
        color=alt.Color(
            "part:N",
            scale=alt.Scale(domain=list(CPU_PARTS), range=list(CPU_PARTS.values())),
            legend=alt.Legend(title=None, orient="top"),
        ),
        order=alt.Order("order:Q"),
    )
    return Figure(
        title=f"{PHASES[phase].partition(' (')[0]}: CPU a row",
        reading="By who used it; the number after the name is of connections. The feeder's process isn't counted.",
        svg=canvas.svg(chart),
        table=Table(
            ["model/driver", "connections", *CPU_PARTS],
            [[_name(each), str(each.connections), *(words.interval(used) for used in _parts(each).values())] for each in shown],
        ),
    )


def _parts(each: BulkSummary) -> dict[str, Interval | None]:
    used = (each.client_user_us_per_row, each.client_system_us_per_row, each.database_cpu_us_per_row)
    return dict(zip(CPU_PARTS, used, strict=True))
