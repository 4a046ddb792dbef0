"""Observations to rows of results: every measured cell with its numbers, whether they mean anything, and what bound them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from iobound.analysis import laws, statistics
from iobound.analysis.bound_by import ERRORS, Evidence, decide, overloaded
from iobound.analysis.evidence import evidence, round_trips, statements
from iobound.analysis.launches import Blocks, Launch, gather, generator_s, target_block_s
from iobound.analysis.observed import Observed
from iobound.analysis.progress import progress
from iobound.records import BoundBy, Cell, CellSummary, CpuPerRequest, Environment, Failure, Interval, RunHeader, Trial

_MEASURED_WRONG = {"verify", "measure", "account"}


@dataclass(frozen=True)
class Verdict:
    """Whether a cell means anything and what bound it."""

    valid: bool
    because: str | None
    bound_by: BoundBy | None
    bound_because: str | None


def summarise(header: RunHeader, observed: Observed) -> list[CellSummary]:
    """Return the cells that were measured, or that failed in the trying, in the order of the plan.

    A cell whose service or parts aren't on this machine isn't among them: it wasn't measured.
    """
    cells = {cell.id: cell for cell in header.plan.cells}
    summaries = []
    for comparison in header.plan.comparisons:
        for id_ in comparison.cells:
            trials = observed.trials.get((comparison.id, id_), [])
            failures = [
                failure for failure in observed.failures.get((comparison.id, id_), []) if failure.stage != "unavailable"
            ]
            if trials or failures:
                summaries.append(_summary(cells[id_], comparison.id, trials, failures, header.environment))
    return summaries


def _summary(
    cell: Cell, comparison: str, trials: list[Trial], failures: list[Failure], environment: Environment
) -> CellSummary:
    launches = gather(trials)
    quiet = Blocks([trial for launch in launches for trial in launch.trials])
    verdict = judge(cell, trials, failures, environment)
    measured = bool(quiet.trials)
    return CellSummary(
        id=cell.id,
        experiment=cell.experiment,
        comparison=comparison,
        target=cell.target,
        workload=str(cell.workload),
        view=cell.view,
        concurrency=cell.concurrency,
        rate=trials[-1].load.rate if trials else cell.rate,
        engine=cell.engine,
        service=cell.service,
        valid=verdict.valid,
        invalid_because=verdict.because,
        at_least=verdict.valid and verdict.bound_by == "generator",
        bound_by=verdict.bound_by,
        bound_because=verdict.bound_because,
        requests_per_second=_over(launches, lambda launch: launch.requests_per_second),
        latency_ms=_latency_ms(launches, quiet),
        cpu_us_per_request=_cpu(launches) if measured else None,
        wait_us_per_request=_over(launches, wait_us),
        statements_per_request=quiet.per_request(statements),
        transaction_control_per_request=quiet.per_request(
            lambda trial: trial.service.transaction_control if trial.service else None
        ),
        rows_per_request=quiet.per_request(lambda trial: trial.service.rows if trial.service else None),
        in_flight=_over(launches, lambda launch: launch.average(lambda trial: trial.load.in_flight_mean)),
        active_at_service=quiet.average(lambda trial: trial.service.active_mean if trial.service else None),
        target_utilisation=quiet.cores(lambda trial: target_block_s(trial.cpu) / trial.target_cores),
        generator_utilisation=quiet.average(lambda trial: trial.load.generator.utilisation),
        ran=_ran(trials),
        settings=cell.settings,
        launches=len(launches),
        blocks=len(quiet.trials),
        noisy_blocks=len(trials) - len(quiet.trials),
        percentile_curve=quiet.latencies.curve() if measured else None,
        progress=progress(quiet.trials),
        rtt_ms=cell.rtt_ms,
        round_trips_per_request=quiet.per_request(round_trips),
    )


def judge(cell: Cell, trials: Sequence[Trial], failures: Sequence[Failure], environment: Environment) -> Verdict:
    """Decide whether the blocks of a cell mean anything, and what bound them."""
    failed = next((failure for failure in failures if failure.stage in _MEASURED_WRONG or not trials), None)
    if failed:
        return Verdict(False, failed.reason, "errors" if trials else None, failed.reason if trials else None)
    quiet = [trial for trial in trials if trial.noise.quiet]
    broken = laws.audit(quiet, cell.workload, len(environment.cores))
    if broken:
        more = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
        return Verdict(False, f"a law is broken: {broken[0]}{more}", "unknown", "the numbers contradict each other")
    seen = evidence(cell, trials, environment)
    bound, because = decide(seen)
    return Verdict((invalid := _invalid(seen, quiet, bound, because)) is None, invalid, bound, because)


def _invalid(seen: Evidence, quiet: list[Trial], bound: BoundBy, because: str) -> str | None:
    blocks = Blocks(quiet)
    if bound == "noise":
        return because
    wrong = sum(trial.load.errors.get("wrong-body", 0) for trial in quiet)
    if wrong:
        return f"wrong bodies: {wrong} of {blocks.requests:,}"
    if bound == "errors":
        return f"{because}: {_kinds(quiet)}" if blocks.failed else because
    if blocks.requests and blocks.failed > ERRORS * blocks.requests:
        return _kinds(quiet)
    if overloaded(seen, bound):
        return f"answered {blocks.requests_per_second:,.0f}/s of the {seen.rate:,.0f}/s offered ({bound}: {because})"
    return None


def _kinds(trials: Sequence[Trial]) -> str:
    kinds: dict[str, int] = {}
    for trial in trials:
        for kind, count in trial.load.errors.items():
            kinds[kind] = kinds.get(kind, 0) + count
    return ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items(), key=lambda item: -item[1]))


def wait_us(launch: Launch) -> float | None:
    """Return what is left of the mean response time after the CPU of target and service, in microseconds: a remainder.

    It holds waiting for the service, the network and locks, and waiting for a turn on the CPU. Parallel work in the
    background of a service can make it negative.
    """
    mean_ms, target_us, database_us = launch.latencies.mean_ms, launch.target_us, launch.database_us
    if mean_ms is None or target_us is None or database_us is None:
        return None
    return mean_ms * 1e3 - target_us - database_us


def _over(launches: Sequence[Launch], quantity: Callable[[Launch], float | None]) -> Interval | None:
    values = [quantity(launch) for launch in launches]
    return statistics.mean([value for value in values if value is not None and math.isfinite(value)])


def _latency_ms(launches: Sequence[Launch], quiet: Blocks) -> dict[str, Interval | None] | None:
    """Percentiles and mean over launches.

    What a launch alone doesn't tell (the maximum, and percentiles that it has too few requests for) is that of all blocks
    together, without an interval.
    """
    summaries = [summary for launch in launches if (summary := launch.latencies.summary())]
    found: dict[str, Interval | None] = {}
    for name, of_all in (quiet.latencies.summary() or {}).items():
        each = [value for summary in summaries if (value := summary[name]) is not None]
        over = statistics.mean(each) if name != "max" and len(each) == len(summaries) else None
        found[name] = over or (None if of_all is None else Interval(estimate=of_all))
    return found or None


def _cpu(launches: Sequence[Launch]) -> CpuPerRequest:
    def each(seconds: Callable[[Trial], float | None]) -> Interval | None:
        def microseconds(trial: Trial) -> float | None:
            used = seconds(trial)
            return None if used is None else used * 1e6

        return _over(launches, lambda launch: launch.per_request(microseconds))

    return CpuPerRequest(
        target_user=each(lambda trial: trial.cpu.target_user_s),
        target_system=each(lambda trial: trial.cpu.target_system_s),
        database=each(lambda trial: trial.cpu.database_s),
        generator=each(lambda trial: generator_s(trial.load.generator)),
        other=each(lambda trial: trial.cpu.other_s),
    )


def _ran(trials: Sequence[Trial]) -> dict[str, str]:
    """Return the labels of what ran; one that changed between launches shows all its values."""
    labels: dict[str, list[str]] = {}
    for trial in trials:
        for name, value in trial.ran.items():
            if value not in labels.setdefault(name, []):
                labels[name].append(value)
    return {name: " / ".join(values) for name, values in labels.items()}
