"""What the time of a driver's statements goes into, beside others of its service, and on the way up to JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import fmean
from typing import get_args

from iobound.analysis import layers, statistics
from iobound.analysis.published_drivers import claims
from iobound.analysis.sampled import Judged, Sampled, by_launch
from iobound.analysis.words import listed
from iobound.records import DriverCell, DriverSample, DriverSummary, Evidence, Finding, Interval, Observation, Rounds, RunHeader
from iobound.records.drivers import Layer, Phase, PhaseUse, Profile, Rung

PHASES: list[Phase] = list(get_args(Phase))
QUEUED = 0.1  # of the wall time in the run queue: others are on the core of the program
COLLECTED = 0.25  # of its CPU in the garbage collector: what makes rows is no longer the most of it
COARSE = 0.1  # A against A tells no smaller difference apart

Results = Sampled[DriverCell, DriverSample]
Value = Callable[[DriverSample], float]


def judge(header: RunHeader, rounds: Rounds, observations: Sequence[Observation]) -> Judged:
    """Summarise each phase of each driver; hold what was published against them."""
    results = _right(Sampled.of(header, rounds, observations, DriverCell, DriverSample))
    measured = [cell for cell in results.cells.values() if results.samples[cell.id]]
    relative = {phase: _relative(results, measured, phase) for phase in PHASES}
    summaries = [_summary(results, cell, phase, relative[phase].get(cell.id)) for cell in measured for phase in PHASES]
    return Judged(
        verdict="\n".join(_verdict(summaries)) or "No driver was measured.",
        summaries=summaries,
        findings=[_control(results), _queued(summaries), _collecting(summaries)],
        claims=claims(results),
    )


def _right(results: Results) -> Results:
    """Leave out drivers that returned wrong rows in any launch: they have no speed in the others either."""
    samples = {id_: [] if _is_wrong(results, id_) else of for id_, of in results.samples.items()}
    return replace(results, samples=samples, controls=[] if _is_wrong(results, results.baseline) else results.controls)


def _is_wrong(results: Results, cell: str) -> bool:
    return cell in results.failures and results.failures[cell].stage == "verify"


def _relative(results: Results, measured: Sequence[DriverCell], phase: Phase) -> dict[str, Interval]:
    """Return the wall times of a phase over those of the baseline of each."""
    held: dict[str, list[str]] = {}
    for cell in measured:
        if (first := _baseline(results, cell)) is not cell:
            held.setdefault(first.id, []).append(cell.id)
    wall = _us(phase, lambda use: use.wall_s)
    return {id_: ratio for first, of in held.items() for id_, ratio in results.ratios(of, first, wall).items()}


def _summary(results: Results, cell: DriverCell, phase: Phase, relative: Interval | None) -> DriverSummary:
    samples = results.samples[cell.id]
    uses = [sample.phases[phase] for sample in samples]
    user = _mean(results, cell, _us(phase, lambda use: use.user_s))
    select = phase == "select"
    stacks = next((sample.stacks for sample in samples if sample.stacks and select), {})
    own: Layer = "driver" if cell.rung == "driver" else "orm"
    return DriverSummary(
        id=f"{cell.id}/{phase}",
        cell=cell.id,
        python=cell.python,
        service=cell.service,
        rtt_ms=cell.rtt_ms,
        valid=True,
        invalid_because=None,
        launches=len({sample.launch for sample in samples}),
        noisy=results.noisy[cell.id],
        ran=samples[-1].ran,
        driver=cell.driver,
        title=cell.title,
        rung=cell.rung,
        phase=phase,
        statements=sum(use.statements for use in uses),
        rows=sum(use.rows for use in uses),
        wall_us=_mean(results, cell, _us(phase, lambda use: use.wall_s)),
        user_us=user,
        system_us=_mean(results, cell, _us(phase, lambda use: use.system_s)),
        runqueue_us=_mean(results, cell, _us(phase, lambda use: use.runqueue_s)),
        wait_us=_mean(results, cell, _us(phase, lambda use: use.wait_s)),
        wait_source="remainder",
        threads_us=_mean(results, cell, _us(phase, lambda use: use.threads_s)),
        database_us=_database(results, cell, phase),
        io_bound_index=_mean(results, cell, lambda sample: sample.phases[phase].wait_s / sample.phases[phase].wall_s),
        round_trips=_round_trips(uses),
        baseline=f"{_baseline(results, cell).id}/{phase}",
        relative=relative,
        function_calls=_calls(samples, phase),
        profile=_profile(samples, phase),
        json_us=_mean(results, cell, lambda sample: sample.json_s * 1e6) if select else None,
        layers=layers.shares(stacks, own, user.estimate),
        ladder=_ladder(results, cell) if select else [],
        stacks=stacks,
        functions=layers.functions(stacks, own),
    )


def _us(phase: Phase, seconds: Callable[[PhaseUse], float]) -> Value:
    """Return what reads microseconds of one statement of `phase` from a sample."""
    return lambda sample: seconds(sample.phases[phase]) * 1e6 / sample.phases[phase].statements


def _mean(results: Results, cell: DriverCell, value: Value) -> Interval:
    found = results.mean(cell.id, value)
    assert found is not None, "a cell is summarised where it has samples"
    return found


def _database(results: Results, cell: DriverCell, phase: Phase) -> Interval | None:
    """Return what the processes of the service spent; ``None`` where they can't be seen, or the driver is the database."""
    if cell.service == "sqlite" or any(sample.phases[phase].database_s is None for sample in results.samples[cell.id]):
        return None
    return _mean(results, cell, _us(phase, lambda use: use.database_s or 0.0))


def _round_trips(uses: Sequence[PhaseUse]) -> float | None:
    """Return round trips per statement; ``None`` where none was seen, the statements having gone another way."""
    counted = sum(use.round_trips or 0 for use in uses)
    return counted / sum(use.statements for use in uses) if counted else None


def _baseline(results: Results, cell: DriverCell) -> DriverCell:
    """Return the first driver measured on the same service over the same round-trip time: on the first interpreter it is the
    first of all, on further ones the same driver on the first.
    """
    alike = [
        each
        for each in results.cells.values()
        if (each.service, each.rtt_ms) == (cell.service, cell.rtt_ms) and results.samples[each.id]
    ]
    if cell.python == alike[0].python:
        return alike[0]
    return next(each for each in alike if each.driver == cell.driver)


# --- what profilers say ---------------------------------------------------------------------------------------------


def _calls(samples: Sequence[DriverSample], phase: Phase) -> float | None:
    seen = [sample.profiled[phase] for sample in samples if phase in sample.profiled]
    return seen[0].calls / seen[0].statements if seen else None


def _profile(samples: Sequence[DriverSample], phase: Phase) -> Profile | None:
    """Return what cProfile says of a statement, beside the plain run of the same process."""
    seen = [(sample.phases[phase], sample.profiled[phase]) for sample in samples if phase in sample.profiled]
    if not seen:
        return None
    slow_s = [(under.wall_s - under.runqueue_s) / under.statements for _, under in seen]
    plain_s = [(plain.wall_s - plain.runqueue_s) / plain.statements for plain, _ in seen]
    in_sockets = [under.sockets_s / under.statements / slow for (_, under), slow in zip(seen, slow_s, strict=True)]
    return Profile(
        wall_us=fmean(under.wall_s / under.statements for _, under in seen) * 1e6,
        bias=fmean(slow / plain for slow, plain in zip(slow_s, plain_s, strict=True)),
        sockets_share=min(1.0, fmean(in_sockets)),
    )


# --- the ladder -----------------------------------------------------------------------------------------------------


def _ladder(results: Results, cell: DriverCell) -> list[Rung]:
    """Return what each step from the driver up to the JSON of an answer adds to a SELECT, with the core to itself.

    There are none where a step wasn't measured.
    """
    steps = [*_beneath(results, cell), cell]
    if not all(results.samples[step.id] for step in steps) or (cell.beneath and len(steps) < 2):
        return []
    walls = [_mean(results, step, _us("select", lambda use: use.wall_s - use.runqueue_s)).estimate for step in steps]
    json_us = _mean(results, cell, lambda sample: sample.json_s * 1e6).estimate
    names = [step.title.partition(" on ")[0] for step in steps]
    added = [walls[0], *(after - before for before, after in pairwise(walls)), json_us]
    whole = sum(added)
    return [Rung(name=name, added_us=us, share=us / whole) for name, us in zip([*names, "JSON"], added, strict=True)]


def _beneath(results: Results, cell: DriverCell) -> Iterator[DriverCell]:
    """Yield the measured cells beneath one: its driver, and of an ORM the Core of the same library where it has one."""
    for each in results.cells.values():
        same_place = (each.service, each.python, each.rtt_ms) == (cell.service, cell.python, cell.rtt_ms)
        if same_place and each.driver == cell.beneath:
            yield each
    for each in results.cells.values():
        same_place = (each.service, each.python, each.rtt_ms) == (cell.service, cell.python, cell.rtt_ms)
        same_library = each.title.split()[0] == cell.title.split()[0]
        if same_place and cell.rung == "orm" and each.rung == "core" and each.beneath == cell.beneath and same_library:
            yield each


# --- what follows ---------------------------------------------------------------------------------------------------


def _verdict(summaries: Sequence[DriverSummary]) -> Iterator[str]:
    """Say for each round-trip time what share of a statement's time drivers wait, of those that wait least and most."""
    drivers = [each for each in summaries if each.rung == "driver"] or summaries
    of_servers = [each for each in drivers if each.service != "sqlite"] or drivers
    for rtt_ms in sorted({each.rtt_ms for each in of_servers}):
        said = []
        for phase, what in (("select", "a SELECT of 1,000 rows"), ("point", "a read of one row")):
            of = [each for each in of_servers if (each.phase, each.rtt_ms) == (phase, rtt_ms)]
            of.sort(key=lambda each: each.io_bound_index.estimate)
            said.append(f"{_from_least_to_most(of)} of {what}")
        where = (
            f"over a network of {rtt_ms:g} ms"
            if rtt_ms
            else "with the database on the same machine"
            if any(each.service != "sqlite" for each in of_servers)
            else "with SQLite, which is part of the program and no server to wait for"
        )
        queued = any(_queue(each) > QUEUED for each in of_servers if each.rtt_ms == rtt_ms)
        rest = "computing" + ", and queueing for a core that others used" * queued
        yield f"What share of a driver's time is waiting, {where}: {', '.join(said)}; the rest is {rest}."


def _from_least_to_most(of: Sequence[DriverSummary]) -> str:
    """Write the shares of the first and the last with their names; one share with all names where all are alike."""
    shares: dict[str, list[str]] = {}
    for each in of:
        shares.setdefault(f"{each.io_bound_index.estimate:.0%}", []).append(_called(each))
    if len(shares) == 1:
        return " ".join(f"{share} ({listed(names)})" for share, names in shares.items())
    return " to ".join(f"{each.io_bound_index.estimate:.0%} ({_called(each)})" for each in (of[0], of[-1]))


def _queue(summary: DriverSummary) -> float:
    """Return the share of the wall time in the run queue."""
    return summary.runqueue_us.estimate / summary.wall_us.estimate


def _called(summary: DriverSummary) -> str:
    return f"{summary.driver} on Python {summary.python}" if summary.python else summary.driver


def _control(results: Results) -> Finding:
    """Hold the SELECTs of the baseline's second launches against those of its first ones: A against A."""
    wall = _us("select", lambda use: use.wall_s)
    first, second = (by_launch(of, wall) for of in (results.samples[results.baseline], results.controls))
    pair = statistics.paired(second, first)
    smallest = statistics.detectable(pair) if pair else None
    if smallest is None:
        return Finding(rule="drivers-control", status="not-measured", statement="No driver was launched twice in two rounds.")
    return Finding(
        rule="drivers-control",
        status="present" if smallest > COARSE else "absent",
        statement=f"Two launches of {results.cells[results.baseline].driver} may differ by {smallest:.0%}: no smaller "
        "difference is called one.",
        evidence=[Evidence(what="its SELECTs against themselves", observed=smallest, threshold=COARSE, unit="of their time")],
        advice="Measure on a quieter machine, or longer with --budget." if smallest > COARSE else None,
    )


def _queued(summaries: Sequence[DriverSummary]) -> Finding:
    """Name the phases in which the program had to wait for its core, which is neither waiting for I/O nor computing."""
    evidence = [
        Evidence(what=each.id, observed=share, threshold=QUEUED, unit="of its time", cell=each.cell)
        for each in summaries
        if (share := _queue(each)) > QUEUED
    ]
    if not evidence:
        return Finding(rule="drivers-queued", status="absent", statement="The program had its core to itself.")
    return Finding(
        rule="drivers-queued",
        status="present",
        statement=f"The program waited for its core, as others ran there, in {listed([each.what for each in evidence])}.",
        evidence=evidence,
        advice="End what else runs on this machine; look at user, system and wait, of which the run queue is no part. Samples "
        "of stacks can't tell it from computing: layers have too much where they wait.",
    )


def _collecting(summaries: Sequence[DriverSummary]) -> Finding:
    """Name what makes so many objects that collecting garbage is a good part of its CPU."""
    rule = "drivers-garbage"
    sampled = [each for each in summaries if each.layers]
    if not sampled:
        return Finding(rule=rule, status="not-measured", statement="No stacks were sampled.")
    evidence = [
        Evidence(what=_called(each), observed=share.share, threshold=COLLECTED, unit="of its CPU", cell=each.cell)
        for each in sampled
        for share in each.layers
        if share.layer == "interpreter" and share.share >= COLLECTED
    ]
    if not evidence:
        return Finding(rule=rule, status="absent", statement="Collecting garbage takes little of the CPU of any driver.")
    said = [f"{each.observed:.0%} of the CPU of {each.what}" for each in evidence if each.observed]
    return Finding(
        rule=rule,
        status="present",
        statement=f"In SELECTs, collecting garbage takes {listed(said)}.",
        evidence=evidence,
        advice="Call gc.freeze() once the program is loaded, and raise the first of gc.set_threshold(); then measure again.",
    )
