"""The cells of ``bulk`` as they came out: rates, CPU a row, what bound them, and how they compare."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from msgspec import structs

from iobound.analysis import statistics
from iobound.analysis.bound_by import BUSY, Evidence, decide
from iobound.analysis.sampled import Sampled, by_launch
from iobound.records import BoundBy, BulkCell, BulkSample, BulkSummary, Environment, Failure, Interval
from iobound.records.bulk import BulkPhase, Phase

Loads = Sampled[BulkCell, BulkSample]

PHASES: tuple[Phase, ...] = ("geo", "data")
STARVED = 0.1  # of the workers' time: one in ten waits for a line, so that the feeder sets the rate
FLUSHING = 0.5  # of the sessions: more wait for a commit's flush than do anything else
FLUSHES = ("WalSync", "WALSync", "WalWrite", "WALWrite", "SyncRep", "Commit")  # in what servers call such waits
UNRANKED: frozenset[BoundBy] = frozenset({"generator", "errors", "noise"})


def summarise(sampled: Loads) -> list[BulkSummary]:
    """Return a row for each phase of each cell that was measured, in the order of the plan, with what it is relative to."""
    found = [_summary(sampled, cell, phase) for cell in sampled.cells.values() if sampled.samples[cell.id] for phase in PHASES]
    return _related(sampled, found)


def phase_of(phase: Phase) -> Callable[[BulkSample], BulkPhase]:
    """Return what picks a phase of a sample."""
    return lambda sample: next(each for each in sample.phases if each.phase == phase)


def rate(phase: Phase) -> Callable[[BulkSample], float]:
    """Return what picks the rows a second of a phase: all its rows over its whole time."""
    pick = phase_of(phase)
    return lambda sample: pick(sample).rows / pick(sample).wall_s


def name(cell: BulkCell | BulkSummary) -> str:
    """Call a cell by its model and driver, and by what is unusual about it."""
    unusual = [
        *([f"Python {cell.python}"] if cell.python else []),
        *([f"{cell.rtt_ms:g} ms away"] if cell.rtt_ms else []),
        *(["a transaction a line"] if cell.transaction == "line" else []),
        *([cell.statements] if cell.statements != "single" else []),
        *([cell.feeder] if cell.feeder != "preloaded" else []),
    ]
    return f"{cell.model}/{cell.driver}" + (f" ({', '.join(unusual)})" if unusual else "")


def _summary(sampled: Loads, cell: BulkCell, phase: Phase) -> BulkSummary:
    samples = sampled.samples[cell.id]
    phases = [phase_of(phase)(sample) for sample in samples]
    failed = _failed(sampled.failures.get(cell.id))
    bound_by, because = decide_bound(sampled.header.environment, cell, samples, phase)
    fewest, most = min(each.rows_least for each in phases), max(each.rows_most for each in phases)
    per_row = partial(_per_row, sampled, cell.id, phase)
    return BulkSummary(
        id=f"{cell.id}/{phase}",
        cell=cell.id,
        python=cell.python,
        service=cell.service,
        rtt_ms=cell.rtt_ms,
        valid=failed is None,
        invalid_because=failed,
        launches=len({sample.launch for sample in samples}),
        noisy=sampled.noisy[cell.id],
        ran=samples[-1].ran,
        model=cell.model,
        driver=cell.driver,
        connections=cell.connections,
        phase=phase,
        lines=cell.lines,
        transaction=cell.transaction,
        statements="single" if phase == "geo" else cell.statements,
        feeder=cell.feeder,
        rows=phases[-1].rows,
        rows_per_second=sampled.mean(cell.id, rate(phase)),
        verified=failed is None,
        bound_by=bound_by,
        bound_because=because,
        relative=None,
        relative_to=None,
        client_cpu_us_per_row=per_row(lambda each: each.user_s + each.system_s),
        client_user_us_per_row=per_row(lambda each: each.user_s),
        client_system_us_per_row=per_row(lambda each: each.system_s),
        database_cpu_us_per_row=per_row(lambda each: each.database_s),
        feeder_empty_s=_mean([each.empty_s for each in phases]),
        idle_share=_mean([_idle(each, cell) for each in phases]),
        rows_least=fewest,
        rows_most=most,
        fairness=_mean([each.rows_least / each.rows_most for each in phases if each.rows_most]),
        retried=sum(each.retried for each in phases),
        waits=_waits(phases),
        window_rows_per_second=sampled.mean(cell.id, lambda sample: phase_of(phase)(sample).window_rows_per_second),
        round_trips_per_row=_round_trips(phases),
        bad_lines=samples[-1].bad_lines,
    )


def _failed(failure: Failure | None) -> str | None:
    """Return why a cell that was measured before has no speed: it loaded something wrong."""
    return failure.reason if failure and failure.stage == "verify" else None


def _per_row(sampled: Loads, cell: str, phase: Phase, seconds: Callable[[BulkPhase], float | None]) -> Interval | None:
    def microseconds(sample: BulkSample) -> float | None:
        of = phase_of(phase)(sample)
        used = seconds(of)
        return None if used is None else used / of.rows * 1e6

    return sampled.mean(cell, microseconds)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _idle(phase: BulkPhase, cell: BulkCell) -> float:
    return phase.empty_s / (phase.wall_s * cell.connections)


def _waits(phases: Sequence[BulkPhase]) -> dict[str, float]:
    """Return the mean number of sessions by what they waited for, over the launches in which one could look."""
    looked = [phase.waits for phase in phases if phase.waits is not None]
    names = sorted({what for waits in looked for what in waits})
    return {what: sum(waits.get(what, 0.0) for waits in looked) / len(looked) for what in names}


# --- what bound it --------------------------------------------------------------------------------------------------


def decide_bound(environment: Environment, cell: BulkCell, samples: Sequence[BulkSample], phase: Phase) -> tuple[BoundBy, str]:
    """Return what bound a phase and why: first too few lines, or an empty queue where the workers' CPU wasn't used up; else as
    for all cells.
    """
    phases = [phase_of(phase)(sample) for sample in samples]
    evidence = _evidence(environment, cell, samples, phases)
    idle = _mean([_idle(each, cell) for each in phases]) or 0.0
    busy = evidence.target_cpu is not None and evidence.target_cpu >= BUSY * evidence.target_limit
    if evidence.quiet and idle >= STARVED and not busy:
        return (
            "generator",
            f"the workers found the queue empty for {idle:.0%} of their time (limit {STARVED:.0%})",
        )
    if cell.lines < cell.connections:
        return "generator", f"{cell.lines} lines keep no more than {cell.lines} of {cell.connections} connections busy"
    bound_by, because = decide(evidence)
    if bound_by == "noise":  # of a bulk load there are no blocks
        return bound_by, "no launch was quiet: something else used the machine in each of them"
    flushing = sum(count for what, count in _waits(phases).items() if any(name in what for name in FLUSHES))
    if bound_by in {"concurrency", "network", "unknown"} and flushing >= FLUSHING * cell.connections:
        because += f"; {flushing:.1f} of {cell.connections} sessions waited for a commit to be flushed"
    return bound_by, because


def _evidence(environment: Environment, cell: BulkCell, samples: Sequence[BulkSample], phases: Sequence[BulkPhase]) -> Evidence:
    seconds, rows = sum(each.wall_s for each in phases), sum(each.rows for each in phases)
    waits = _waits(phases)
    database = [each.database_s for each in phases if each.database_s is not None]
    relay = [each.relay_s for each in phases if each.relay_s is not None]
    looked = any(each.waits is not None for each in phases)
    services = {service.name: service for service in environment.services}
    return Evidence(
        quiet=any(sample.noise.quiet for sample in samples),
        connections=cell.connections,
        requests_per_second=rows / seconds,
        response_ms=cell.connections * seconds / rows * 1e3,
        in_flight=cell.connections * (1 - (_mean([_idle(each, cell) for each in phases]) or 0.0)),
        target_cpu=sum(each.user_s + each.system_s for each in phases) / seconds,
        target_cores=samples[-1].target_cores,
        target_processes=None if (samples[-1].ran.get("gil") == "off") else samples[-1].processes,
        together=len(environment.other_cores) == 1,
        target_shares=bool(set(environment.target_cores) & set(environment.other_cores)),
        database_cpu=sum(database) / seconds if len(database) == len(phases) else None,
        database_cores=len(environment.other_cores),
        quota=environment.quota,
        active=sum(count for what, count in waits.items() if not what.startswith("Client:")) if looked else None,
        lock_waits=sum(count for what, count in waits.items() if what.startswith("Lock:")) if looked else None,
        statements_per_request=_statements(cell, phases[0], samples[0]),
        ping_us=services[cell.service].ping_us if cell.service in services else None,
        rtt_ms=cell.rtt_ms,
        round_trips_per_request=_round_trips(phases),
        relay_cpu=sum(relay) / seconds if relay else None,
    )


def _round_trips(phases: Sequence[BulkPhase]) -> float | None:
    """Return the round trips a row that a relay counted; ``None`` without one."""
    counted = [each for each in phases if each.round_trips is not None]
    return sum(each.round_trips or 0 for each in counted) / sum(each.rows for each in counted) if counted else None


def _statements(cell: BulkCell, phase: BulkPhase, sample: BulkSample) -> float | None:
    """Return the round trips a row that a driver can't do without; ``None`` where it may send many rows at once."""
    if phase.phase == "geo":
        return 1.0
    if cell.statements != "single":
        return None
    lines = phase_of("geo")(sample).rows
    return 1 + lines / phase.rows * (2 + 2 * (cell.transaction == "line"))


# --- compared -------------------------------------------------------------------------------------------------------


def _related(sampled: Loads, found: Sequence[BulkSummary]) -> list[BulkSummary]:
    """Add to each row its rate over that of its reference; intervals are corrected over what has the same one (Holm)."""
    by_id = {summary.id: summary for summary in found}
    related = dict(by_id)
    for reference, of in _groups(sampled, found):
        pairs = {each.id: pair for each in of if (pair := _paired(sampled, each, by_id[reference]))}
        levels = statistics.holm([1.0 if pair.p is None else pair.p for pair in pairs.values()])
        for (id_, pair), level in zip(pairs.items(), levels, strict=True):
            related[id_] = structs.replace(related[id_], relative=pair.interval(level), relative_to=reference)
    return [*related.values()]


def _groups(sampled: Loads, found: Sequence[BulkSummary]) -> Iterator[tuple[str, list[BulkSummary]]]:
    """Yield each reference with the rows that are held against it, if both may be ranked."""
    groups: dict[str, list[BulkSummary]] = {}
    ranked = {each.id for each in found if each.valid and each.bound_by not in UNRANKED}
    for each in found:
        reference = _reference(sampled, sampled.cells[each.cell])
        if reference and each.id in ranked and f"{reference.id}/{each.phase}" in ranked:
            groups.setdefault(f"{reference.id}/{each.phase}", []).append(each)
    yield from groups.items()


def _reference(sampled: Loads, cell: BulkCell) -> BulkCell | None:
    """Return what a cell is held against: the first that differs in its model or driver only; for the first of these, the first
    that differs in its interpreter, transactions, statements or feeder.
    """
    alike = [
        other
        for other in sampled.cells.values()
        if (other.service, other.connections, other.rtt_ms) == (cell.service, cell.connections, cell.rtt_ms)
    ]
    models = [other for other in alike if _way(other) == _way(cell)]
    ways = [other for other in alike if (other.model, other.driver) == (cell.model, cell.driver)]
    return next((first for first in (models[0], ways[0]) if first.id != cell.id), None)


def _way(cell: BulkCell) -> tuple[object, ...]:
    return cell.python, cell.transaction, cell.statements, cell.feeder


def _paired(sampled: Loads, one: BulkSummary, other: BulkSummary) -> statistics.PairedRatio | None:
    pick = rate(one.phase)
    return statistics.paired(by_launch(sampled.samples[one.cell], pick), by_launch(sampled.samples[other.cell], pick))


def control(sampled: Loads, phase: Phase) -> statistics.PairedRatio | None:
    """Return A against A: the baseline's second launches over its first."""
    pick = rate(phase)
    return statistics.paired(by_launch(sampled.controls, pick), by_launch(sampled.samples[sampled.baseline], pick))
