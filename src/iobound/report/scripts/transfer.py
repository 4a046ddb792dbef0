"""Transfers by strategy: a table a database with what doesn't add up, wrong rows struck; a chart of what the right ones get done."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from iobound.records import AnySummary, Judgement, RunHeader, TransferSummary
from iobound.records.transfer import Outcome
from iobound.report import sections, words
from iobound.report.drawing import FULL, Canvas, Figure, Row, Table
from iobound.report.sections import Grid, Section

VERDICTS: dict[Outcome, str] = {
    "correct": "no fault seen",
    "wrong": "wrong",
    "stuck": "stuck",
    "errors": "errors",
    "no-contention": "says nothing",
}
DATABASES = {"postgresql": "PostgreSQL", "mariadb": "MariaDB", "sqlite": "SQLite"}


def section(header: RunHeader, judgement: Judgement, summaries: Sequence[AnySummary]) -> Section:
    """Return the section of ``transfer``."""
    of = [each for each in summaries if isinstance(each, TransferSummary)]
    databases = list(dict.fromkeys(each.database for each in of))
    claimed = sections.claims(judgement, "transfer")
    return Section(
        title="Transfers under concurrency",
        text=[
            "Workers, each with a connection, move one unit at a time between a few accounts for as long as is measured, then empty "
            "all accounts into one. What the database then has is held against the transfers that it acknowledged.",
            "Lost updates: units by which accounts differ from that, at least. Overdrafts: accounts below zero. Money created: change "
            "of the sum of all accounts. Transfers a second are acknowledged ones; a row with a fault isn't ranked, however fast.",
            "“No fault seen” is what it says: these runs met no race. `iobound race` tries every order of statements.",
        ],
        grids=[
            *([claimed] if claimed else []),
            *(_grid(database, [each for each in of if each.database == database]) for database in databases),
        ],
        figures=lambda: [
            figure for database in databases if (figure := _figure(database, [e for e in of if e.database == database]))
        ],
    )


def _grid(database: str, of: Sequence[TransferSummary]) -> Grid:
    return Grid(
        title=f"{DATABASES[database]}: transfers, and what doesn't add up",
        columns=[
            *("strategy", "level", "model", "verdict", "transfers/s", "times the reference"),
            *("lost updates", "overdrafts", "money created", "deadlocks", "serialization failures", "other aborts", "retries"),
        ],
        rows=[_row(each) for each in of],
        numbers=range(4, 13),
        faint=[number for number, each in enumerate(of) if not each.valid],
        notes=_notes(of),
    )


def _row(each: TransferSummary) -> list[str]:
    other = each.lock_timeouts + each.busy + each.version_conflicts
    return [
        each.strategy,
        each.isolation,
        each.model,
        VERDICTS[each.verdict],
        words.interval(each.transactions_per_second),
        _relative(each),
        *(f"{number:,}" for number in (each.lost_updates, each.overdrafts)),
        f"{each.money_created:+,}" if each.money_created else "0",
        *(f"{number:,}" for number in (each.deadlocks, each.serialization_failures, other, each.retries)),
    ]


def _relative(each: TransferSummary) -> str:
    if each.relative is None:
        return "not ranked" if not each.valid else "–"
    return "reference" if each.relative_to == each.id else words.interval(each.relative, "x")


def _notes(of: Sequence[TransferSummary]) -> list[str]:
    reference = next((each.relative_to for each in of if each.relative_to), None)
    drivers = {each.model: each.ran.get("driver", each.driver) for each in of}
    errors = [
        f"{each.strategy} under {each.model}: {count:,} times {error}" for each in of for error, count in each.errors.items()
    ]
    return [
        *([f"The reference is {reference}."] if reference else []),
        f"{of[0].workers} workers; drivers: {words.labels(drivers)}.",
        *errors[:6],
    ]


def _figure(database: str, of: Sequence[TransferSummary]) -> Figure | None:
    """Draw transfers a second, those with a fault in grey; ``None`` where there is nothing to draw."""
    drawn = [each for each in of if each.transactions_per_second and each.transactions_per_second.estimate > 0]
    if not drawn:
        return None
    rows: list[Row] = [
        {
            "strategy": f"{each.strategy} ({each.isolation})",
            "model": each.model,
            "rate": rate.estimate,
            "low": rate.low,
            "high": rate.high,
            "fault": not each.valid,
        }
        for each in drawn
        if (rate := each.transactions_per_second)
    ]
    names = list(dict.fromkeys(row["strategy"] for row in rows))
    canvas = Canvas()
    x, title = alt.X("rate:Q", title="acknowledged transfers/s", scale=alt.Scale(zero=True)), "acknowledged transfers/s"
    y = alt.Y("strategy:N", sort=names, title=None, axis=alt.Axis(labelLimit=230))
    colour = alt.condition("datum.fault", alt.value("var(--context)"), alt.value("var(--target-cpu)"))
    base = canvas.chart(rows).properties(width=FULL - 170, height=alt.Step(20))
    interval = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=1.5)
    interval = interval.encode(x=alt.X("low:Q", title=title), x2="high:Q", y=y, color=colour)
    point = base.mark_point(filled=True, size=52, opacity=0.9)
    point = point.encode(x=x, y=y, color=colour, shape=alt.Shape("model:N", title=None))
    return Figure(
        title=f"{DATABASES[database]}: what the right ones get done",
        reading="In grey what has a fault: however fast, it isn't in the race.",
        svg=canvas.svg(interval + point),
        table=Table(
            ["strategy", "level", "model", "transfers/s", "verdict"],
            [
                [
                    each.strategy,
                    each.isolation,
                    each.model,
                    words.interval(each.transactions_per_second),
                    VERDICTS[each.verdict],
                ]
                for each in drawn
            ],
        ),
    )
