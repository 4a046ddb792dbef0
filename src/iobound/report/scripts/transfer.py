"""Transfers by strategy: for each database a table with what doesn't add up, and a chart of what is got done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import altair as alt

from iobound.records import AnySummary, Judgement, RunHeader, TransferSummary
from iobound.records.transfer import Outcome
from iobound.report import words
from iobound.report.drawing import FULL, Canvas, Figure, Row, Table
from iobound.report.sections import Grid, Section

VERDICTS: dict[Outcome, str] = {
    "correct": "no fault seen",
    "wrong": "wrong",
    "stuck": "stuck",
    "errors": "errors",
    "no-contention": "says nothing",
}
MODELS = ["threads", "gevent", "asyncio", "processes"]
DATABASES = {"postgresql": "PostgreSQL", "mariadb": "MariaDB", "sqlite": "SQLite"}


def section(header: RunHeader, judgement: Judgement, summaries: Sequence[AnySummary]) -> Section:
    """Return the section of ``transfer``."""
    of = [each for each in summaries if isinstance(each, TransferSummary)]
    by_database = {
        database: [each for each in of if each.database == database] for database in dict.fromkeys(each.database for each in of)
    }
    return Section(
        title="Transfers under concurrency",
        text=[
            "Workers, each with a connection, move one unit at a time between a few accounts for as long as is measured, then "
            "empty all accounts into one. What the database then has is held against the transfers that it acknowledged.",
            "Lost: units by which accounts differ from that, at least. Below zero: accounts in debt at the end. Created: "
            "change of the sum of all accounts. Transfers/s: acknowledged ones. What has a fault isn't ranked, however fast.",
            "“No fault seen” is what it says: these runs met no race. `iobound race` tries every order of statements.",
        ],
        grids=[
            _claims(judgement),
            *(_grid(database, rows) for database, rows in by_database.items()),
            *([_schedules(of)] if any(each.schedules for each in of) else []),
        ],
        figures=lambda: [_figure(database, rows) for database, rows in by_database.items()],
    )


def _claims(judgement: Judgement) -> Grid:
    """Return what was said of correctness, and what follows from what was measured here."""
    rows = [
        [claim.statement, words.HOLDS[claim.result] if claim.result else "–", claim.because]
        for claim in judgement.claims
        if claim.experiment == "transfer"
    ]
    return Grid("What was published of correctness, and here", ["published statement", "here it", "because"], rows)


def _grid(database: str, of: Sequence[TransferSummary]) -> Grid:
    return Grid(
        title=f"{DATABASES[database]}: transfers by strategy",
        columns=[
            *("strategy", "model", "verdict", "transfers/s", "× reference"),
            *("lost", "below zero", "created", "aborts and errors"),
        ],
        rows=[_row(each, _usual(of)) for each in of],
        numbers=range(3, 8),
        faint=[number for number, each in enumerate(of) if not each.valid],
        notes=_notes(of),
    )


def _row(each: TransferSummary, usual: str) -> list[str]:
    return [
        _strategy(each, usual),
        each.model,
        VERDICTS[each.verdict],
        words.interval(each.transactions_per_second),
        _relative(each),
        f"{each.lost_updates:,}",
        f"{each.overdrafts:,}",
        f"{each.money_created:+,}" if each.money_created else "0",
        _aborts(each),
    ]


def _usual(of: Sequence[TransferSummary]) -> str:
    """Return the isolation level of most rows, which isn't repeated in each."""
    return Counter(each.isolation for each in of).most_common(1)[0][0]


def _strategy(each: TransferSummary, usual: str) -> str:
    return each.strategy if each.isolation == usual else f"{each.strategy}, {each.isolation}"


def _relative(each: TransferSummary) -> str:
    if each.relative is None:
        return "–" if each.valid else "not ranked"
    return "reference" if each.relative_to == each.id else words.interval(each.relative, "x")


def _aborts(each: TransferSummary) -> str:
    """List what ended transactions that were tried again, then what wasn't tried again."""
    counts = {
        "deadlocks": each.deadlocks,
        "serialization failures": each.serialization_failures,
        "changed versions": each.version_conflicts,
        "busy": each.busy,
        "lock timeouts": each.lock_timeouts,
        "given up": each.given_up,
        "errors": sum(each.errors.values()),
        "workers hung": each.unfinished,
    }
    return ", ".join(f"{count:,} {what}" for what, count in counts.items() if count) or "–"


def _notes(of: Sequence[TransferSummary]) -> list[str]:
    reference = next((each for each in of if each.relative_to == each.id), None)
    drivers = {each.model: each.ran.get("driver", "") for each in of}
    errors = [
        f"{each.strategy} under {each.model}: {count:,} times {error}"
        for each in of
        for error, count in sorted(each.errors.items(), key=lambda pair: -pair[1])[:2]
    ]
    return [
        *([f"The reference is {reference.strategy} under {reference.model}."] if reference else []),
        f"At {_usual(of)} where nothing else is said. {of[0].workers} workers. Drivers: {words.labels(drivers)}.",
        *errors,
    ]


def _schedules(of: Sequence[TransferSummary]) -> Grid:
    """Return how often each outcome came of the schedules of two transfers, under each model."""
    tables: dict[str, dict[str, dict[str, str]]] = {}
    for each in of:
        if each.schedules:
            tables.setdefault(f"{each.strategy}, {DATABASES[each.database]}", {})[each.model] = each.schedules
    rows, notes = [], []
    for name, by_model in tables.items():
        first = next(iter(by_model.values()))
        counts = {model: Counter(schedules.values()) for model, schedules in by_model.items()}
        for outcome in dict.fromkeys(outcome for schedules in by_model.values() for outcome in schedules.values()):
            example = next((schedule for schedule, came in first.items() if came == outcome), "–")
            rows.append([name, outcome, example, *(str(counts[m][outcome]) if m in counts else "–" for m in MODELS)])
        alike = all(schedules == first for schedules in by_model.values())
        notes.append(
            f"{name}: {len(first)} schedules, {'each with the same outcome' if alike else 'not all the same'} under all."
        )
    return Grid(
        title="Every schedule of two transfers: how many came to which end, under each model",
        columns=["strategy", "A, B: payer, payee", "for example", *MODELS],
        rows=rows,
        numbers=range(3, 7),
        notes=[
            *notes,
            "Both want the payer's only unit. A schedule is the order in which the statements of A and B reach the database; "
            "`iobound race` carries out all of them.",
        ],
    )


def _figure(database: str, of: Sequence[TransferSummary]) -> Figure:
    """Draw transfers a second, those with a fault in grey."""
    rows: list[Row] = [
        {
            "strategy": _strategy(each, _usual(of)),
            "model": each.model,
            "rate": rate.estimate,
            "low": rate.low,
            "high": rate.high,
            "fault": not each.valid,
        }
        for each in of
        if (rate := each.transactions_per_second)
    ]
    names = list(dict.fromkeys(row["strategy"] for row in rows))
    canvas = Canvas()
    title = "acknowledged transfers/s"
    x = alt.X("rate:Q", title=title, scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=4))
    y = alt.Y("strategy:N", sort=names, title=None, axis=alt.Axis(labelLimit=260))
    colour = alt.condition("datum.fault", alt.value("var(--context)"), alt.value("var(--target-cpu)"))
    base = canvas.chart(rows).properties(width=FULL - 190, height=alt.Step(18))
    interval = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=1.5)
    interval = interval.encode(x=alt.X("low:Q", title=title), x2="high:Q", y=y, color=colour)
    point = base.mark_point(filled=True, size=52, opacity=0.9)
    point = point.encode(
        x=x,
        y=y,
        color=colour,
        shape=alt.Shape("model:N", title=None, scale=alt.Scale(domain=MODELS), legend=alt.Legend(orient="top")),
    )
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
                for each in of
            ],
        ),
    )
