"""What primitives cost on each interpreter, and what of a query's time they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from iobound.analysis import paradigm, statistics
from iobound.analysis.primitives import Costs, Key, fastest_ns
from iobound.analysis.sampled import Judged, Sampled, by_launch
from iobound.analysis.words import estimated, figure, listed
from iobound.records import (
    CallCell,
    CallSample,
    CallSummary,
    ClaimResult,
    Evidence,
    Finding,
    Observation,
    Rounds,
    RunHeader,
)

BESIDE_A_QUERY = ["call", "generator-return", "await-coroutine", "create-task", "loop-turn", "greenlet-switch", "thread-switch"]
USUAL_LOOP = "asyncio"
ENDS = 3  # primitives that the verdict names where there are too many for all
COARSE = 1.0  # a difference between two launches of the same: where so large, few others can be told


def judge(header: RunHeader, rounds: Rounds, observations: Sequence[Observation]) -> Judged:
    """Summarise every primitive, and hold what was published against those of each interpreter."""
    sampled = Sampled.of(header, rounds, observations, CallCell, CallSample)
    costs = Costs.of(sampled)
    claims = paradigm.claims(costs)
    return Judged(
        verdict=_verdict(claims, costs),
        summaries=[row for cell in sampled.cells.values() for row in _rows(cell, sampled, costs)],
        findings=[_beside_a_query(costs), _control(sampled)],
        claims=claims,
    )


def _rows(cell: CallCell, sampled: Sampled[CallCell, CallSample], costs: Costs) -> Iterator[CallSummary]:
    """Yield a row for each primitive that the interpreter has, measured or failed."""
    python, samples = cell.python or "", sampled.samples[cell.id]
    for primitive in cell.primitives:
        key = Key(python, primitive, cell.loop)
        said = [sample.timings[primitive].what for sample in samples if primitive in sample.timings]
        errors = [sample.errors[primitive] for sample in samples if primitive in sample.errors]
        if said or errors:
            yield CallSummary(
                id="/".join([python, primitive, *([cell.loop] if cell.loop else [])]),
                cell=cell.id,
                python=cell.python,
                service=cell.service,
                rtt_ms=cell.rtt_ms,
                valid=bool(said),
                invalid_because=None if said else errors[0],
                launches=len(costs.ns[key]),
                noisy=sampled.noisy[cell.id],
                ran=samples[-1].ran,
                primitive=primitive,
                loop=cell.loop,
                what=said[0] if said else "",
                ns=costs.mean(key),
                relative=costs.ratio(key, Key(python, "call")),
            )


def _beside_a_query(costs: Costs) -> Finding:
    """Say what share of a blocking query of one row each primitive is."""
    evidence = []
    for python in costs.pythons:
        query = Key(python, "query")
        for primitive in BESIDE_A_QUERY:
            for loop in (None, USUAL_LOOP):
                share = costs.ratio(Key(python, primitive, loop), query)
                if share:
                    what = f"{primitive} on Python {python}"
                    evidence.append(Evidence(what=what, observed=share.estimate * 100, threshold=None, unit="% of a query"))
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
    first, second = (by_launch(of, fastest_ns("call")) for of in (sampled.samples[sampled.baseline], sampled.controls))
    pair = statistics.paired(second, first)
    smallest = statistics.detectable(pair) if pair else None
    if smallest is None:
        return Finding(
            rule="calls-control", status="not-measured", statement="The plain call wasn't launched twice in two rounds."
        )
    return Finding(
        rule="calls-control",
        status="present" if smallest > COARSE else "absent",
        statement=f"Two launches of the plain call may differ by {smallest:.0%}: no smaller difference is called one.",
        evidence=[Evidence(what="a call against itself", observed=smallest, threshold=COARSE, unit="of its time")],
        advice="Measure on a quieter machine, or longer with --budget." if smallest > COARSE else None,
    )


def _range(python: str, costs: Costs) -> str:
    """Say what the cheapest and the dearest primitives take on an interpreter."""
    means = {key: mean.estimate for key in costs.ns if key.python == python and (mean := costs.mean(key))}
    keys = sorted(means, key=lambda key: means[key])
    if not keys:
        return f"Nothing was measured on Python {python}."
    told = [f"{key.primitive}{f' ({key.loop})' if key.loop else ''} {_time(means[key])}" for key in keys]
    if len(told) <= 2 * ENDS:
        return f"On Python {python}, one of each takes: {listed(told, len(told))}."
    cheapest, dearest = listed(told[:ENDS]), listed(told[-ENDS:])
    return f"On Python {python}, the cheapest of {len(told)} are {cheapest}; the dearest {dearest}."


def _time(ns: float) -> str:
    return f"{figure(ns)} ns" if ns < 1000 else f"{figure(ns / 1e3)} us"


def _verdict(claims: Sequence[ClaimResult], costs: Costs) -> str:
    lines = []
    times = [
        f"{figure(each.here.estimate)}x on{_where(each)}" for each in claims if each.claim == "stopiteration" and each.here
    ]
    if times:
        lines.append(
            f"A return through a generator's StopIteration costs, against a plain call, {listed(times)} (published: six times)."
        )
    for claim in claims:
        if claim.claim == "gap" and claim.here:
            told = claim.here.low is not None and claim.here.low > 0
            more = f"takes {estimated(claim.here, ' us')} more" if told else "can't be shown to take more"
            lines.append(f"A query of one row {more} with aiopg than with psycopg2 on{_where(claim)}.")
    return "\n".join(lines or [_range(python, costs) for python in costs.pythons])


def _where(claim: ClaimResult) -> str:
    return claim.statement.rpartition(":")[2]
