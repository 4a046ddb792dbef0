"""Audits measurements by laws that hold whatever is measured; a broken one means that the instrument or the count is wrong.

Lazowska, Zahorjan, Graham, Sevcik: Quantitative System Performance, 1984, chapter 3: the utilisation law and Little's law.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import msgspec

from iobound.analysis import latency
from iobound.analysis.latency import Latencies
from iobound.analysis.launches import Blocks, failures, generator_s, target_s
from iobound.records import LoadResult, Record, Trial, Workload

SLACK = 0.10  # of a quantity: readings begin and end some milliseconds beside the block
EXACT = 0.02  # of a quantity that two parts of one record give: rounding and the histogram's buckets
REMAINDER_S = 0.05  # a difference of clocks that tick every 10 ms may come out this much below nothing

_REMAINDERS = {"cpu.other_s", "noise.foreign"}
_ORDER = ("p50", "p90", "p99", "p99.9", "max")


def audit(trials: Sequence[Trial], workload: Workload, cores: int | None = None) -> list[str]:
    """Return what the blocks of one cell break, each with its arithmetic in words. `cores` are those of the machine."""
    broken = [f"{_name(trial)}: {problem}" for trial in trials for problem in _of_block(trial, workload, cores)]
    if not broken and trials:
        broken += _in_flight_unexplained(trials)
    return broken


def _name(trial: Trial) -> str:
    return f"launch {trial.launch}, block {trial.block}"


def _of_block(trial: Trial, workload: Workload, cores: int | None) -> Iterator[str]:
    impossible = list(_impossible(trial))
    if impossible:
        yield from impossible
        return
    yield from audit_load(trial.load)
    yield from _successes(trial.load)
    yield from _utilisation(trial, cores)
    yield from _rows(trial, workload)


def audit_load(load: LoadResult) -> list[str]:
    """Return what one result of a load engine breaks by itself, each with its arithmetic in words."""
    impossible = list(_impossible(load))
    if impossible:
        return impossible
    latencies = latency.decode(load.latency)
    return [
        *_counts(load),
        *disordered(latencies.summary() or {}),
        *_latencies(load, latencies),
        *_series(load, latencies),
    ]


def _impossible(record: Record) -> Iterator[str]:
    """Numbers that are no number, or negative. No quantity of a trial can be, save a remainder by a tick."""
    for path, value in _numbers(msgspec.structs.asdict(record)):
        if not math.isfinite(value):
            yield f"{path} is {value}"
        elif value < (-REMAINDER_S if path in _REMAINDERS else 0):
            yield f"{path} is negative ({value:g})"
        elif value == 0 and path.rpartition(".")[2] == "seconds":
            yield f"{path} is 0"


def _numbers(values: Mapping[str, object], path: str = "") -> Iterator[tuple[str, float]]:
    for name, value in values.items():
        match value:
            case bool():
                pass
            case int() | float():
                yield path + name, value
            case list():
                yield from _numbers({f"{name}[{place}]": each for place, each in enumerate(value)}, path)
            case dict():
                yield from _numbers(value, f"{path}{name}.")
            case msgspec.Struct():
                yield from _numbers(msgspec.structs.asdict(value), f"{path}{name}.")


def _counts(load: LoadResult) -> Iterator[str]:
    """Answers and open requests are among those sent; up to one a connection may have been sent just before the block."""
    ended = load.responses + load.unanswered
    if ended > load.requests + load.connections:
        yield (
            f"{load.responses} successes + {load.unanswered} unanswered = {ended}, "
            f"but only {load.requests} requests were sent (and at most {load.connections} before)"
        )


def _successes(load: LoadResult) -> Iterator[str]:
    good = sum(count for code, count in load.status.items() if code < "400")
    if load.responses > good:
        yield f"{load.responses} successes, but only {good} answers with a status below 400"


def _utilisation(trial: Trial, cores: int | None) -> Iterator[str]:
    """Utilisation law: utilisation = throughput x demand, at most the cores. The demand is that of all requests sent."""
    load, cpu = trial.load, trial.cpu
    if not load.requests:
        return
    throughput = (load.responses + failures(trial)) / load.seconds
    limits = {"target": (target_s(cpu), trial.target_cores)}
    if cores is not None:
        together = target_s(cpu) + (cpu.database_s or 0) + generator_s(load.generator)
        limits["target, service and generator"] = (together, cores)
    for who, (used_s, available) in limits.items():
        demand_s = used_s / load.requests
        if throughput * demand_s > available * (1 + SLACK):
            yield (
                f"{throughput:,.0f}/s x {demand_s * 1e6:,.0f} us of CPU ({who}) "
                f"= {throughput * demand_s:.2f} cores, but there are {available}"
            )


def _latencies(load: LoadResult, latencies: Latencies) -> Iterator[str]:
    """As many latencies as successes, and no more time in them than requests were in flight (Little's law)."""
    if abs(latencies.total - load.responses) > EXACT * load.responses:
        yield f"{latencies.total} latencies for {load.responses} successes"
        return
    late_ms = 0.0 if load.rate is None else load.generator.late_ms_p99  # there, latency begins before the request is sent
    if load.in_flight_mean is None or late_ms is None:
        return
    before_s = load.connections * (latencies.max_ms or 0) / 1e3  # of requests sent before the block, answered in it
    late_s = load.responses * late_ms / 1e3
    if latencies.sum_s - before_s - late_s > load.in_flight_mean * load.seconds * (1 + SLACK):
        yield (
            f"{load.responses / load.seconds:,.0f}/s x {latencies.mean_ms or 0:,.3f} ms "
            f"= {latencies.sum_s / load.seconds:.2f} in flight, but {load.in_flight_mean:.2f} were"
        )


def disordered(summary: Mapping[str, float | None]) -> Iterator[str]:
    """Yield each percentile that is below a smaller one, and a mean above the maximum."""
    known = [(name, value) for name in _ORDER if (value := summary.get(name)) is not None]
    for (lower, below), (higher, above) in pairwise(known):
        if above < below:
            yield f"{higher} {above:g} ms is below {lower} {below:g} ms"
    mean, most = summary.get("mean"), summary.get("max")
    if mean is not None and most is not None and mean > most:
        yield f"the mean {mean:g} ms is above the maximum {most:g} ms"


def _series(load: LoadResult, latencies: Latencies) -> Iterator[str]:
    """The time series tells of the same responses, in the same unit, as the histogram."""
    if load.series is None or not load.responses or latencies.mean_ms is None:
        return
    counted, summed_ms = sum(load.series.responses), sum(load.series.latency_sum_us) / 1e3
    if abs(counted - load.responses) > EXACT * load.responses:
        yield f"{counted} responses in the time series, {load.responses} in all"
        return
    mean_ms = summed_ms / counted
    if abs(mean_ms - latencies.mean_ms) > max(SLACK * latencies.mean_ms, 0.002):
        yield f"the mean latency is {mean_ms:,.3f} ms in the time series, {latencies.mean_ms:,.3f} ms in the histogram"


def _rows(trial: Trial, workload: Workload) -> Iterator[str]:
    """What was answered was written, and nothing that wasn't sent: successes <= rows <= successes + unanswered + failed."""
    if trial.rows_written is None:
        return
    load = trial.load
    if workload.name == "mixed" and not all(code.isdecimal() for code in load.status):
        return  # an engine that doesn't tell 201 from 200 doesn't tell writes from reads
    least = min(load.responses, load.status.get("201", 0)) if workload.name == "mixed" else load.responses
    most = least + load.unanswered + failures(trial)
    if not least <= trial.rows_written <= most:
        yield (
            f"{trial.rows_written} rows were written, but there were {least} successful writes and "
            f"{most - least} more requests that may have written"
        )


def _in_flight_unexplained(trials: Sequence[Trial]) -> Iterator[str]:
    """Little's law the other way: time in flight must lie in latencies, or in requests that weren't answered well.

    Over all blocks of a cell, since one that ends in a stall has its last requests in no latency.
    """
    counted = Blocks([trial for trial in trials if trial.load.in_flight_mean is not None])
    if not counted.trials:
        return
    in_flight_s = counted.total(lambda trial: (trial.load.in_flight_mean or 0) * trial.load.seconds)
    open_s = counted.total(_open_s)
    if in_flight_s > (counted.latencies.sum_s + open_s) * (1 + SLACK):
        yield (
            f"{counted.requests_per_second:,.0f}/s x {counted.latencies.mean_ms or 0:,.3f} ms = "
            f"{counted.latencies.sum_s / counted.seconds:.2f} in flight, and unanswered or failed requests at most "
            f"{open_s / counted.seconds:.2f}, but {in_flight_s / counted.seconds:.2f} were"
        )


def _open_s(trial: Trial) -> float:
    """Return the time that unanswered and failed requests of a block can have been in flight."""
    longest_s = (latency.decode(trial.load.latency).max_ms or trial.load.seconds * 1e3) / 1e3
    return trial.load.unanswered * longest_s + failures(trial) * trial.load.seconds
