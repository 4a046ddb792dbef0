"""Drivers: what the time of a statement goes into, as tables and stacked bars; the ladder up to JSON; flame graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import altair as alt

from iobound.records import AnySummary, DriverSummary, Judgement, RunHeader
from iobound.records.drivers import Layer, Phase, Rung
from iobound.report import flame, sections, words
from iobound.report.drawing import FULL, Canvas, Figure, Row, Table
from iobound.report.sections import Grid, Section

PHASES: dict[Phase, str] = {
    "select": "SELECT of all rows",
    "insert": "INSERT of one row",
    "point": "Read of one row",
    "wide": "Read of wide rows",
}
LAYERS: dict[Layer, str] = {
    "driver": "var(--target-cpu)",
    "orm": "var(--workers)",
    "event loop": "var(--network)",
    "application": "var(--database-cpu)",
    "interpreter": "var(--noise)",
}
NAMES: dict[Layer, str] = {**{layer: layer for layer in LAYERS}, "orm": "ORM"}
PARTS = {
    **{f"user: {name}": colour for name, colour in zip(NAMES.values(), LAYERS.values(), strict=True)},
    "user": "var(--target-cpu)",
    "system": "var(--target-system)",
    "run queue": "var(--generator)",
    "wait": "var(--wait)",
}
STEPS = ["var(--target-cpu)", "var(--network)", "var(--workers)", "var(--database-cpu)"]
ROOM = 600_000  # bytes of all flame graphs
MOST_STACKS = 15  # in the table of a flame graph

Column = Callable[[DriverSummary], str]


def section(header: RunHeader, judgement: Judgement, summaries: Sequence[AnySummary]) -> Section:
    """Return the section of ``drivers``."""
    of = [each for each in summaries if isinstance(each, DriverSummary)]
    claimed = sections.claims(judgement, "drivers")
    return Section(
        title="Is a driver waiting or computing?",
        text=[
            "One process, one connection, one statement after the other. Its wall time is the sum of what it computes (user, "
            "system), the time that it is ready and others have its core (run queue), and the rest, in which it waits. The "
            "I/O-bound index is wait over wall: the share of time in which the client could have done something else. "
            "The database's own CPU lies beside it, mostly within the wait."
        ],
        grids=[
            *(_split(phase, what, [each for each in of if each.phase == phase]) for phase, what in PHASES.items()),
            *_layers(of),
            *_ladders(of),
            *_profiles(of),
            *([claimed] if claimed else []),
        ],
        figures=lambda: [*_bars(of), *_ladder_figure(of), *_flames(of)],
    )


def _name(summary: DriverSummary) -> str:
    """Return what a driver is called, with the levels of factors that it was measured at."""
    python = f" on {summary.python}" if summary.python else ""
    over = f", {summary.rtt_ms:g} ms" if summary.rtt_ms else ""
    return f"{summary.driver}{python}{over}"


def _ordered(of: Sequence[DriverSummary]) -> list[DriverSummary]:
    """Order by service and round-trip time, each from the fastest on."""
    return sorted(of, key=lambda each: (each.service or "", each.rtt_ms, each.wall_us.estimate))


# --- tables ---------------------------------------------------------------------------------------------------------


def _split(phase: Phase, what: str, of: Sequence[DriverSummary]) -> Grid:
    columns: dict[str, Column] = {
        "driver": _name,
        "wall": lambda each: words.interval(each.wall_us),
        "user": lambda each: words.estimate(each.user_us),
        "system": lambda each: words.estimate(each.system_us),
        "queue": lambda each: words.estimate(each.runqueue_us),
        "wait": lambda each: words.estimate(each.wait_us),
        "index": lambda each: words.share(each.io_bound_index.estimate),
        "database": lambda each: words.estimate(each.database_us),
        "trips": lambda each: words.count(each.round_trips),
        "times first": lambda each: words.interval(each.relative, "x") if each.relative else "–",
    }
    rows = [[column(each) for column in columns.values()] for each in _ordered(of)]
    firsts = ", ".join(dict.fromkeys(each.baseline.split("/")[-2] for each in of if each.python == of[0].python))
    further = "; on further interpreters against the same driver on the first" if len({each.python for each in of}) > 1 else ""
    note = f"The last column is against the first driver of each service ({firsts}){further}."
    return Grid(f"{what}: µs a statement", [*columns], rows, range(1, len(columns)), notes=[note] if phase == "select" else [])


def _layers(of: Sequence[DriverSummary]) -> Iterator[Grid]:
    sampled = [each for each in _ordered(of) if each.layers]
    if sampled:
        rows = []
        for each in sampled:
            shares = {share.layer: words.share(share.share) for share in each.layers}
            rows.append([_name(each), *(shares.get(layer, "–") for layer in LAYERS), str(sum(s.samples for s in each.layers))])
        yield Grid(
            "Whose CPU time a SELECT is",
            ["driver", *NAMES.values(), "samples"],
            rows,
            numbers=range(1, len(LAYERS) + 2),
            notes=[
                "By samples of what was on a processor or ready for one; what runs in C counts for the Python function that "
                "called it. The interpreter's own is its garbage collector's."
            ],
        )


def _ladders(of: Sequence[DriverSummary]) -> Iterator[Grid]:
    tops = [each for each in _ordered(of) if each.ladder]
    if tops:
        rows = [
            [
                _name(each),
                " + ".join(f"{rung.name} {words.number(rung.added_us)} ({words.share(rung.share)})" for rung in each.ladder),
            ]
            for each in tops
        ]
        yield Grid("From the driver to the JSON of an answer: what each layer adds to a SELECT, µs", ["driver", "layers"], rows)


def _rung(rung: Rung) -> str:
    return f"{rung.name} {words.number(rung.added_us)} ({words.share(rung.share)})"


def _profiles(of: Sequence[DriverSummary]) -> Iterator[Grid]:
    profiled = [each for phase in ("select", "point") for each in _ordered(of) if each.profile and each.phase == phase]
    if profiled:
        rows = [
            [
                _name(each),
                each.phase,
                words.count(each.function_calls),
                f"{words.number(each.profile.bias)}x",
                words.share(each.profile.sockets_share),
                words.share(each.io_bound_index.estimate),
            ]
            for each in profiled
            if each.profile
        ]
        yield Grid(
            "What cProfile would have said",
            ["driver", "phase", "function calls", "time under it", "in sockets", "index without it"],
            rows,
            numbers=range(2, 6),
            notes=["It sees sockets only where Python calls them, and slows down what makes many calls most."],
        )


# --- figures --------------------------------------------------------------------------------------------------------


def _bars(of: Sequence[DriverSummary]) -> Iterator[Figure]:
    """Draw the split of each phase, on a scale of its own for each service that is far faster or slower than others."""
    for phase, what in PHASES.items():
        shown = _ordered([each for each in of if each.phase == phase])
        if shown:
            yield _bar_figure(what, shown)


def _bar_figure(what: str, shown: Sequence[DriverSummary]) -> Figure:
    parts = [
        {"name": _name(each), "part": part, "order": list(PARTS).index(part), "us": us}
        for each in shown
        for part, us in _parts(each).items()
    ]
    used = [part for part in PARTS if any(row["part"] == part for row in parts)]
    names = [{"name": _name(each), "index": f"waits {words.share(each.io_bound_index.estimate)}"} for each in shown]
    canvas = Canvas()
    y = alt.Y("name:N", sort=None, axis=None, scale=alt.Scale(paddingInner=0, paddingOuter=0.2))
    colour = alt.Color(
        "part:N",
        sort=None,
        scale=alt.Scale(domain=used, range=[PARTS[part] for part in used]),
        legend=alt.Legend(title=None, orient="top", columns=4 if len(used) < 5 else 3, symbolType="square", columnPadding=8),
    )
    bars = canvas.chart(parts).mark_bar(size=12, yOffset=6)
    bars = bars.encode(x=alt.X("us:Q", title="µs a statement", axis=alt.Axis(tickCount=5)), y=y, color=colour, order="order:Q")
    text = canvas.chart(names)
    left = text.mark_text(align="left", dy=-8, fontSize=11, limit=FULL - 80, color="var(--ink)")
    right = text.mark_text(align="right", dy=-8, fontSize=11, color="var(--muted)")
    chart = bars + left.encode(x=alt.value(0), y=y, text="name:N") + right.encode(x=alt.value(FULL), y=y, text="index:N")
    return Figure(
        title=f"{what}: where the time goes",
        reading="Grey is waiting, orange waiting for the core; the rest is computing, by whom where stacks were sampled.",
        svg=canvas.svg(chart.properties(width=FULL, height=alt.Step(36))),
        table=Table(
            ["driver", *(f"{part}, µs" for part in used), "I/O-bound index"],
            [
                [
                    _name(each),
                    *(words.number(_parts(each).get(part, 0.0)) for part in used),
                    words.interval(each.io_bound_index),
                ]
                for each in shown
            ],
        ),
    )


def _parts(summary: DriverSummary) -> dict[str, float]:
    """Return the parts of a statement's time in the order of the bar."""
    user = {f"user: {NAMES[share.layer]}": share.user_us for share in summary.layers} or {"user": summary.user_us.estimate}
    rest = {"system": summary.system_us, "run queue": summary.runqueue_us, "wait": summary.wait_us}
    return {**user, **{part: us.estimate for part, us in rest.items()}}


def _ladder_figure(of: Sequence[DriverSummary]) -> Iterator[Figure]:
    """Draw the ladders that have most rungs, one for each service, interpreter and round-trip time."""
    tops: dict[tuple[str | None, str | None, float], DriverSummary] = {}
    for each in of:
        place = each.service, each.python, each.rtt_ms
        if len(each.ladder) > 2 and (place not in tops or len(each.ladder) > len(tops[place].ladder)):
            tops[place] = each
    if not tops:
        return
    rungs = max((each.ladder for each in tops.values()), key=len)
    rows: list[Row] = [
        {"name": _name(each), "rung": rung.name, "order": order, "us": max(rung.added_us, 0.0)}
        for each in tops.values()
        for order, rung in enumerate(each.ladder)
    ]
    names = list(dict.fromkeys(row["rung"] for row in rows))
    colours = {name: STEPS[number % len(STEPS)] for number, name in enumerate(names)}
    canvas = Canvas()
    chart = (
        canvas.chart(rows)
        .mark_bar(size=16)
        .encode(
            x=alt.X("us:Q", title="µs a SELECT, and its JSON", axis=alt.Axis(tickCount=5)),
            y=alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelLimit=170, domain=False, ticks=False)),
            color=alt.Color(
                "rung:N",
                sort=None,
                scale=alt.Scale(domain=names, range=list(colours.values())),
                legend=alt.Legend(title=None, orient="top", columns=4, symbolType="square", columnPadding=8),
            ),
            order="order:Q",
        )
        .properties(width=FULL - 140, height=alt.Step(30))
    )
    yield Figure(
        title="From the driver to JSON",
        reading=f"What each layer adds to a SELECT: {', '.join(rung.name for rung in rungs)}.",
        svg=canvas.svg(chart),
        table=Table(
            ["driver", "layer", "adds, µs", "share"],
            [
                [_name(each), rung.name, words.number(rung.added_us), words.share(rung.share)]
                for each in tops.values()
                for rung in each.ladder
            ],
        ),
    )


def _flames(of: Sequence[DriverSummary]) -> list[Figure]:
    """Draw a flame graph for each driver, as many as there is room for in the page; the last names those left out."""
    sampled = [each for each in _ordered(of) if each.stacks]
    drawn: list[Figure] = []
    room = ROOM
    for each in sampled:
        figure = _flame(each)
        room -= len(figure.svg)
        if room < 0:
            break
        drawn.append(figure)
    if drawn and len(drawn) < len(sampled):
        left_out = ", ".join(_name(each) for each in sampled[len(drawn) :])
        drawn[-1] = replace(drawn[-1], missing=[f"{left_out}: no room in this page"])
    return drawn


def _flame(summary: DriverSummary) -> Figure:
    colours = {function: LAYERS[layer] for function, layer in summary.functions.items()}
    frequent = sorted(summary.stacks.items(), key=lambda item: -item[1])[:MOST_STACKS]
    layers = ", ".join(f"{NAMES[share.layer]} {words.share(share.share)}" for share in summary.layers)
    return Figure(
        title=f"{_name(summary)}: flame graph of a SELECT",
        reading=f"{sum(summary.stacks.values())} samples on a processor, callers above: {layers}.",
        svg=flame.draw(summary.stacks, colours, "var(--rest)"),
        table=Table(["innermost function", "its caller", "samples"], [_stack(stack, count) for stack, count in frequent]),
    )


def _stack(stack: str, count: int) -> list[str]:
    *_, caller, innermost = ["–", *stack.split(";")]
    return [innermost, caller, str(count)]
