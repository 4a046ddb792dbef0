"""What primitives cost, and what of a query's time they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from iobound.analysis import statistics
from iobound.analysis.published import NEAR, scaled
from iobound.analysis.sampled import Judged, Sampled, by_launch
from iobound.analysis.words import estimated, figure, listed
from iobound.records import (
    CallCell,
    CallSample,
    CallSummary,
    ClaimResult,
    Evidence,
    Finding,
    Holds,
    Interval,
    Observation,
    Rounds,
    RunHeader,
)

SOURCE = "the published essay on asynchronous Python and databases: Python 3.4, PostgreSQL, psycopg2 and aiopg"
PUBLISHED_TIMES = 12.5 / 2.1  # seconds for ten million of each
PUBLISHED_GAP_US = 1e3 / 10 - 1e3 / 21  # a row of asyncio at 10,000 rows/s against one of threads at 21,000
PAIRS = [
    ("generator-return", "wrapped-call"),
    ("generator-stopiteration", "wrapped-call"),
]  # the second where 2.7 lacks the first
MOST = 0.5  # of the gap: what explains it
SHARED = ["call", "generator-return", "await-coroutine", "create-task", "loop-turn", "greenlet-switch", "thread-switch"]

Launches = Mapping[int, float]


@dataclass(frozen=True)
class Key:
    """A primitive on an interpreter and an event loop."""

    python: str
    primitive: str
    loop: str | None = None


def judge(header: RunHeader, rounds: Rounds, observations: Sequence[Observation]) -> Judged:
    """Summarise every primitive; hold the published ratio and the published gap against those of each interpreter."""
    sampled = Sampled.of(header, rounds, observations, CallCell, CallSample)
    measured = _measured(sampled)
    pythons = list(dict.fromkeys(cell.python or "" for cell in sampled.cells.values()))
    times = [claim for python in pythons for claim in _times(python, measured)]
    gaps = [claim for python in pythons for claim in _gap(python, measured)]
    return Judged(
        verdict=_verdict(times, gaps),
        summaries=_summaries(sampled, measured),
        findings=[_shares(pythons, measured), _control(sampled)],
        claims=[*times, *gaps],
    )


def _measured(sampled: Sampled[CallCell, CallSample]) -> dict[Key, dict[int, float]]:
    """Return the nanoseconds of each primitive by launch: the median of its values."""
    found = {}
    for cell in sampled.cells.values():
        for primitive in cell.primitives:
            values = by_launch(sampled.samples[cell.id], _ns(primitive))
            if values:
                found[Key(cell.python or "", primitive, cell.loop)] = values
    return found


def _ns(primitive: str) -> Callable[[CallSample], float | None]:
    def ns(sample: CallSample) -> float | None:
        timing = sample.timings.get(primitive)
        return median(timing.ns) if timing else None

    return ns


def _ratio(contender: Launches, baseline: Launches) -> Interval | None:
    pair = statistics.paired(contender, baseline)
    return pair.interval() if pair else None


def _difference(more: Launches, less: Launches) -> dict[int, float]:
    return {launch: more[launch] - less[launch] for launch in more if launch in less}


# --- rows of results ------------------------------------------------------------------------------------------------


def _summaries(sampled: Sampled[CallCell, CallSample], measured: Mapping[Key, Launches]) -> list[CallSummary]:
    rows = []
    for cell in sampled.cells.values():
        samples = sampled.samples[cell.id]
        for primitive in cell.primitives:
            key = Key(cell.python or "", primitive, cell.loop)
            said = [sample.timings[primitive].what for sample in samples if primitive in sample.timings]
            errors = [sample.errors[primitive] for sample in samples if primitive in sample.errors]
            if not said and not errors:  # not in this version of Python, or the cell wasn't measured
                continue
            call = measured.get(Key(key.python, "call"))
            rows.append(
                CallSummary(
                    id="/".join([key.python, primitive, *([cell.loop] if cell.loop else [])]),
                    cell=cell.id,
                    python=cell.python,
                    service=cell.service,
                    rtt_ms=cell.rtt_ms,
                    valid=bool(said),
                    invalid_because=None if said else errors[0],
                    launches=len(measured.get(key, {})),
                    noisy=sampled.noisy[cell.id],
                    ran=samples[-1].ran,
                    primitive=primitive,
                    loop=cell.loop,
                    what=said[0] if said else "",
                    ns=statistics.mean(list(measured.get(key, {}).values())),
                    relative=_ratio(measured[key], call) if key in measured and call else None,
                )
            )
    return rows


# --- what was published ---------------------------------------------------------------------------------------------


def _times(python: str, measured: Mapping[Key, Launches]) -> list[ClaimResult]:
    """Hold "six times a plain call" against the pair of an interpreter; nothing where the pair wasn't planned or measured."""
    for slow, plain in PAIRS:
        contender, baseline = measured.get(Key(python, slow)), measured.get(Key(python, plain))
        if contender and baseline:
            break
    else:
        return []
    ratio = _ratio(contender, baseline)
    result, because = _near(ratio)
    plain_ns = statistics.mean(list(baseline.values()))
    if plain_ns:
        because += f"; a plain call takes {figure(plain_ns.estimate)} ns"
    return [
        ClaimResult(
            claim="stopiteration",
            source=SOURCE,
            statement=f"returning through a generator's StopIteration costs six times a plain call: Python {python}",
            unit="x",
            published=PUBLISHED_TIMES,
            here=ratio,
            bound_here=None,
            cell=None,
            result=result,
            because=because,
            ratio=scaled(ratio, PUBLISHED_TIMES),
            experiment="calls",
        )
    ]


def _near(ratio: Interval | None) -> tuple[Holds, str]:
    if ratio is None:
        return "not-measured", "the plain call is too short to be measured: a compiler has left it out"
    times = ratio.estimate / PUBLISHED_TIMES
    if 1 / NEAR <= times <= NEAR:
        return "holds", f"within {NEAR} times of it"
    low, high = ratio.low or ratio.estimate, ratio.high or ratio.estimate
    if low <= PUBLISHED_TIMES * NEAR and high >= PUBLISHED_TIMES / NEAR:
        return "not-measured", f"too uncertain: the interval reaches to within {NEAR} times of it"
    return "fails", "more than published" if times > 1 else "less than published"


def _gap(python: str, measured: Mapping[Key, Launches]) -> list[ClaimResult]:
    """Compare what a query takes more when it is awaited with what waiting on a socket does, on the same event loop."""
    awaited, blocking = measured.get(Key(python, "query", "asyncio")), measured.get(Key(python, "query"))
    waited, received = (measured.get(Key(python, "socket-round-trip", loop)) for loop in ("asyncio", None))
    if not (awaited and blocking and waited and received):
        return []
    gap, machinery = _difference(awaited, blocking), _difference(waited, received)
    gap_us, machinery_us = (_us(each) for each in (gap, machinery))
    share = _ratio(machinery, gap)
    returns = measured.get(Key(python, "generator-return"))
    worth = f"; it is worth {figure(gap_us.estimate * 1e3 / _mean(returns))} returns through StopIteration" if returns else ""
    return [
        ClaimResult(
            claim="gap",
            source=SOURCE,
            statement=f"a row takes 52 us more with aiopg than with psycopg2 and threads: Python {python}",
            unit="us",
            published=PUBLISHED_GAP_US,
            here=gap_us,
            bound_here=None,
            cell=None,
            result=None,
            because=f"one query of one row at a time, blocking {figure(_mean(blocking) / 1e3)} us{worth}",
            ratio=scaled(gap_us, PUBLISHED_GAP_US),
            experiment="calls",
        ),
        ClaimResult(
            claim="gap-explained",
            source=SOURCE,
            statement=f"what coroutines and the event loop cost explains that gap: Python {python}",
            unit="us",
            published=PUBLISHED_GAP_US,
            here=machinery_us,
            bound_here=None,
            cell=None,
            result=_explained(share),
            because=(
                f"that is what waiting for a socket takes more in asyncio than blocking: {estimated(share)} of the gap; "
                "the rest is aiopg's own Python"
                if share
                else "the gap is none: it can't be told from nothing"
            ),
            experiment="calls",
        ),
    ]


def _explained(share: Interval | None) -> Holds:
    if share is None or (share.low or 0.0) < MOST < (share.high or 0.0):
        return "not-measured"
    return "holds" if share.estimate >= MOST else "fails"


def _mean(launches: Launches) -> float:
    return fmean(launches.values())


def _us(launches: Launches) -> Interval:
    interval = statistics.mean([value / 1e3 for value in launches.values()])
    assert interval is not None
    return interval


# --- findings -------------------------------------------------------------------------------------------------------


def _shares(pythons: Sequence[str], measured: Mapping[Key, Launches]) -> Finding:
    """Say what share of a blocking query of one row each primitive is."""
    evidence = []
    for python in pythons:
        query = measured.get(Key(python, "query"))
        if not query:
            continue
        for primitive in SHARED:
            for loop in (None, "asyncio"):
                value = measured.get(Key(python, primitive, loop))
                if value:
                    share = _mean(value) / _mean(query)
                    evidence.append(
                        Evidence(
                            what=f"{primitive} on Python {python}", observed=share * 100, threshold=None, unit="% of a query"
                        )
                    )
    if not evidence:
        return Finding(rule="primitives-beside-a-query", status="not-measured", statement="No query was measured beside them.")
    largest = max(evidence, key=lambda each: each.observed or 0.0)
    return Finding(
        rule="primitives-beside-a-query",
        status="present",
        statement=f"The largest of them, {largest.what}, is {figure(largest.observed or 0.0)} % of a query of one row.",
        evidence=evidence,
        advice="What is done a few times a query is cheap beside it; what is done for each of its rows or columns is not.",
    )


def _control(sampled: Sampled[CallCell, CallSample]) -> Finding:
    """Hold the plain call of the baseline's second launches against that of its first ones: A against A."""
    first = by_launch(sampled.samples[sampled.baseline], _ns("call"))
    pair = statistics.paired(by_launch(sampled.controls, _ns("call")), first)
    smallest = statistics.detectable(pair) if pair else None
    if smallest is None:
        return Finding(
            rule="calls-control", status="not-measured", statement="The plain call wasn't measured twice in two rounds."
        )
    return Finding(
        rule="calls-control",
        status="inconclusive" if smallest > 1 else "absent",
        statement=f"Two launches of the plain call differ by up to {smallest:.0%}: no smaller difference is one.",
        evidence=[Evidence(what="a call against itself", observed=smallest, threshold=1.0, unit="of its time")],
    )


def _verdict(times: Sequence[ClaimResult], gaps: Sequence[ClaimResult]) -> str:
    said = [f"{figure(claim.here.estimate)}x on{claim.statement.rpartition(':')[2]}" for claim in times if claim.here]
    lines = []
    if said:
        lines.append(f"A return through a generator's StopIteration costs {listed(said)} (published: six times a plain call).")
    for claim in gaps:
        if claim.claim == "gap" and claim.here:
            python = claim.statement.rpartition(":")[2]
            lines.append(f"A query of one row takes {estimated(claim.here)} us more with aiopg than with psycopg2 on{python}.")
    return "\n".join(lines or ["What the primitives cost was measured."])
