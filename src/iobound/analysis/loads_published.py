"""The published rates of the bulk load, and what their ratios are here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from iobound.analysis import statistics
from iobound.analysis.loads import UNRANKED, Loads, name, rate
from iobound.analysis.published import held, scaled
from iobound.analysis.sampled import by_launch
from iobound.analysis.words import bound_by
from iobound.records import BulkCell, BulkSummary, ClaimResult, Holds, Interval
from iobound.records.bulk import Phase

SOURCE = "the published essay on asynchronous Python and databases: bulk load of the US Census 2000"
LIKE = 2.0  # a number of connections up to so many times the published one stands for it
WHAT: dict[Phase, str] = {"geo": "geographical records", "data": "values"}


@dataclass(frozen=True)
class Program:
    """A published program: what it was called, and the model and driver that stand for it."""

    title: str
    python: str
    model: str
    driver: str


THREADS_2 = Program("threads on Python 2.7", "2.7", "threads", "psycopg2")
THREADS_3 = Program("threads on Python 3.4", "3.4", "threads", "psycopg2")
GEVENT_2 = Program("gevent on Python 2.7", "2.7", "gevent", "psycopg2")
ASYNCIO_3 = Program("asyncio on Python 3.4", "3.4", "asyncio", "aiopg")
PAIRS = ((GEVENT_2, THREADS_2), (ASYNCIO_3, THREADS_3), (THREADS_3, THREADS_2))


@dataclass(frozen=True)
class Setting:
    """Where was measured, and the thousand rows a second that were published, by program: of both phases."""

    title: str
    network: bool
    connections: int
    rates: dict[Program, tuple[float, float]]
    ask: str


SETTINGS = (
    Setting(
        "over a network, 120 connections",
        True,
        120,
        {THREADS_2: (22, 22), THREADS_3: (10, 21), GEVENT_2: (18, 19), ASYNCIO_3: (8, 10)},
        "--rtt 0.3ms --connections 120",
    ),
    Setting(
        "local, 15 connections",
        False,
        15,
        {THREADS_2: (6.8, 20), THREADS_3: (5.5, 19), GEVENT_2: (9, 13), ASYNCIO_3: (5, 6)},
        "--connections 15",
    ),
    Setting(
        "local, 350 connections",
        False,
        350,
        {THREADS_2: (11, 9), THREADS_3: (9, 9), GEVENT_2: (13, 9), ASYNCIO_3: (7, 6)},
        "--connections 350",
    ),
)


def claims(sampled: Loads, found: Sequence[BulkSummary]) -> list[ClaimResult]:
    """Hold each published ratio against the one here, phase by phase: rates are of another machine."""
    usual = [each for each in found if _is_usual(sampled.cells[each.cell])]
    return [_claim(sampled, usual, setting, pair, phase) for setting, phase, pair in _published()]


def _is_usual(cell: BulkCell) -> bool:
    """Tell whether a cell loads as the published suite did, but for its feeder."""
    return (cell.transaction, cell.statements) == ("autocommit", "single") and cell.feeder != "published"


def _published() -> Iterator[tuple[Setting, Phase, tuple[Program, Program]]]:
    phases: tuple[Phase, ...] = ("geo", "data")
    for setting in SETTINGS:
        for phase in phases:
            for pair in PAIRS:
                yield setting, phase, pair


def _claim(
    sampled: Loads, found: Sequence[BulkSummary], setting: Setting, pair: tuple[Program, Program], phase: Phase
) -> ClaimResult:
    number = ("geo", "data").index(phase)
    contender, baseline = pair
    published = setting.rates[contender][number] / setting.rates[baseline][number]
    mine, other = (_counterpart(found, setting, program, phase) for program in pair)
    here, result, because = _held(sampled, setting, pair, mine, other, published)
    return ClaimResult(
        claim=f"bulk-{setting.connections}-{phase}-{contender.model}-{contender.python}",
        source=SOURCE,
        statement=f"{setting.title}, {WHAT[phase]}: {contender.title} against {baseline.title}",
        unit="x",
        published=published,
        here=here,
        bound_here=mine.bound_by if mine else None,
        cell=mine.cell if mine else None,
        result=result,
        because=because,
        ratio=scaled(here, published),
        experiment="bulk",
    )


def _counterpart(found: Sequence[BulkSummary], setting: Setting, program: Program, phase: Phase) -> BulkSummary | None:
    """Return what stands for a published program: with about its connections; on its Python, else on another of its major."""
    candidates = [
        each
        for each in found
        if (each.model, each.driver, each.phase) == (program.model, program.driver, phase)
        and bool(each.rtt_ms) == setting.network
        and 1 / LIKE <= each.connections / setting.connections <= LIKE
        and (program.python == "2.7") == (each.python == "2.7")
    ]
    if not candidates and program.python == "2.7":
        return _counterpart(found, setting, Program(program.title, "3", program.model, program.driver), phase)
    return min(candidates, key=lambda each: (abs(each.connections - setting.connections), _release(each)), default=None)


def _release(summary: BulkSummary) -> tuple[int, ...]:
    """Return the Python that ran, so that the oldest comes first: it is the nearest to the published one."""
    return tuple(int(part) for part in summary.ran.get("python", "99").split(".") if part.isdecimal())


def _held(
    sampled: Loads,
    setting: Setting,
    pair: tuple[Program, Program],
    mine: BulkSummary | None,
    other: BulkSummary | None,
    published: float,
) -> tuple[Interval | None, Holds, str]:
    if mine is None or other is None or not _beside(pair, mine, other):
        programs = ",".join(dict.fromkeys(f"{program.model}/{program.driver}" for program in pair))
        pythons = " --python 2.7,3.8" if pair[0].python != pair[1].python else ""
        return None, "not-measured", f"it takes {setting.ask} --models {programs}{pythons}"
    unranked = next((each for each in (mine, other) if not each.valid or each.bound_by in UNRANKED), None)
    if unranked:
        why = unranked.invalid_because or f"{unranked.bound_by}: {unranked.bound_because}"
        return None, "not-measured", f"not ranked: {name(unranked)}: {why}"
    pick = rate(mine.phase)
    paired = statistics.paired(by_launch(sampled.samples[mine.cell], pick), by_launch(sampled.samples[other.cell], pick))
    if paired is None:
        return None, "not-measured", "no round has both"
    here = paired.interval()
    why = _why(setting, pair, mine, other)
    result, because = held(here, published)
    return here, result, f"{because}; {why}"


def _beside(pair: tuple[Program, Program], mine: BulkSummary, other: BulkSummary) -> bool:
    """Tell whether two rows differ in nothing but what the published programs differ in."""
    places = {(each.service, each.connections, each.rtt_ms, each.feeder) for each in (mine, other)}
    same_python = pair[0].python == pair[1].python
    return mine.cell != other.cell and len(places) == 1 and (mine.python == other.python or not same_python)


def _why(setting: Setting, pair: tuple[Program, Program], mine: BulkSummary, other: BulkSummary) -> str:
    """Say what bound both, and in what the programs here aren't the published ones."""
    if mine.bound_by == other.bound_by:
        parts = [f"both {bound_by(mine.bound_by or 'unknown', 2)}"]
    else:
        parts = [f"{bound_by(mine.bound_by or 'unknown')}, the baseline {bound_by(other.bound_by or 'unknown')}"]
    pythons = dict.fromkeys(each.ran.get("python", "?") for each in (mine, other))
    wanted = dict.fromkeys(program.python for program in pair)
    parts.append(f"Python {' and '.join(pythons)} here, {' and '.join(wanted)} there")
    if mine.connections != setting.connections:
        parts.append(f"{mine.connections} connections here")
    return "; ".join(parts)
