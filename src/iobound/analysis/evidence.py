"""What was observed of a cell, in the form that deciding what bound it takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from iobound.analysis.bound_by import Evidence
from iobound.analysis.launches import Blocks, database_block_s, generator_s, target_block_s
from iobound.records import Cell, Environment, Trial

ONE_THREAD = {"valkey", "redis"}  # services that execute commands on one core, however many there are
IN_PROCESS = {"sqlite"}  # services whose work is the target's own CPU


def evidence(cell: Cell, trials: Sequence[Trial], environment: Environment) -> Evidence:
    """Return the evidence of the quiet blocks of a cell; of all blocks, marked as not quiet, where none is."""
    quiet = [trial for trial in trials if trial.noise.quiet]
    blocks = Blocks(quiet or list(trials))
    ran = blocks.trials[-1].ran
    workers = number(ran, "workers") or 1
    threads, pool = number(ran, "threads"), number(ran, "pool")
    target_shares = bool(set(environment.target_cores) & set(environment.other_cores))
    services = {service.name: service for service in environment.services}
    return Evidence(
        error_share=blocks.failed / blocks.requests if blocks.requests else None,
        quiet=bool(quiet),
        connections=cell.concurrency,
        rate=blocks.trials[-1].load.rate,
        sent_per_second=blocks.requests / blocks.seconds,
        overdue_share=blocks.overdue / (blocks.requests + blocks.overdue) if blocks.overdue else 0.0,
        late_ms_p99=blocks.average(lambda trial: trial.load.generator.late_ms_p99),
        requests_per_second=blocks.requests_per_second,
        response_ms=blocks.latencies.mean_ms,
        in_flight=blocks.average(lambda trial: trial.load.in_flight_mean),
        generator_busiest=blocks.average(lambda trial: trial.load.generator.utilisation),
        generator_cpu=blocks.average(lambda trial: generator_s(trial.load.generator) / trial.load.seconds),
        generator_ceiling=_ceiling(cell, blocks, environment),
        target_cpu=blocks.cores(lambda trial: target_block_s(trial.cpu)),
        target_cores=blocks.trials[-1].target_cores,
        target_processes=workers if ran else None,  # a program of ours without the label has one process
        target_shares=target_shares,
        slots=workers * threads if threads else None,
        database_cpu=_database_cpu(cell, blocks),
        database_cores=_database_cores(cell, environment),
        together=not target_shares and len(environment.other_cores) == 1,
        quota=environment.quota,
        active=blocks.average(lambda trial: trial.service.active_mean if trial.service else None),
        lock_waits=blocks.average(lambda trial: trial.service.lock_waits_mean if trial.service else None),
        pool=workers * pool if pool else None,
        statements_per_request=blocks.per_request(statements),
        ping_us=services[cell.service].ping_us if cell.service in services else None,
        rtt_ms=cell.rtt_ms,
        round_trips_per_request=blocks.per_request(round_trips),
        relay_cpu=blocks.cores(lambda trial: trial.cpu.relay_block_s),
    )


def number(ran: Mapping[str, str], label: str) -> int | None:
    """Read a label as a count; ``None`` where it is absent or in words ("one per connection")."""
    text = ran.get(label, "")
    return int(text) if text.isdecimal() else None


def statements(trial: Trial) -> int | None:
    """Count the data statements of a block."""
    return sum(trial.service.statements.values()) if trial.service else None


def round_trips(trial: Trial) -> int | None:
    """Count the round trips of a block between target and service, where a relay saw them."""
    return trial.service.round_trips if trial.service else None


def _database_cpu(cell: Cell, blocks: Blocks) -> float | None:
    return 0.0 if cell.service in IN_PROCESS else blocks.cores(lambda trial: database_block_s(trial.cpu))


def _database_cores(cell: Cell, environment: Environment) -> int | None:
    """Return how many cores the service can use: all but the target's, and but the generator's where that has its own."""
    if cell.service is None:
        return len(environment.other_cores)
    if cell.service in ONE_THREAD:
        return 1
    return max(1, len(environment.other_cores) - 1)


def _ceiling(cell: Cell, blocks: Blocks, environment: Environment) -> float | None:
    """Return what the engine reaches here with as many connections: noted in the block, or calibrated before the run."""
    noted = blocks.average(lambda trial: trial.load.generator.ceiling_requests_per_second)
    if noted is not None:
        return noted
    calibrated = [each for each in environment.ceilings if (each.engine, each.concurrency) == (cell.engine, cell.concurrency)]
    return calibrated[0].requests_per_second if calibrated else None
