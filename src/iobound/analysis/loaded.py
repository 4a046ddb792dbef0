"""One block of load by itself: its figures, what bound them, and whether they can be trusted."""

from __future__ import annotations

from typing import Literal

import msgspec

from iobound.analysis import latency, laws
from iobound.analysis.bound_by import Evidence, decide, overloaded
from iobound.records import BoundBy, LoadResult

THREADED = 1.1  # cores for each busy process: more than this, and its processes don't tell how many cores a server can use


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """CPU seconds of the server's processes during the block, and how many of them were at work."""

    cpu_s: float
    busy_processes: int


class GeneratorSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What the generator took. `utilisation` is of its busiest process's core."""

    processes: int
    cpu_us_per_request: float | None
    utilisation: float
    ceiling_requests_per_second: float | None
    late_ms_p99: float | None


class TargetSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What the server took, where its processes run on this machine."""

    cpu_us_per_request: float | None
    utilisation: float
    busy_processes: int


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What ``--json`` prints. `at_least`: the generator was the limit, so the server can do more."""

    url: str
    engine: str
    loop: Literal["closed", "open"]
    connections: int
    rate: float | None
    seconds: float
    interrupted: bool
    requests: int
    responses: int
    requests_per_second: float
    at_least: bool
    latency_ms: dict[str, float | None] | None
    status: dict[str, int]
    errors: dict[str, int]
    unanswered: int
    overdue: int
    connects: int
    bytes_received: int
    in_flight_mean: float | None
    valid: bool
    invalid_because: str | None
    bound_by: BoundBy
    bound_because: str
    generator: GeneratorSummary
    target: TargetSummary | None


def summarise(
    result: LoadResult,
    *,
    url: str,
    think_s: float,
    cores: int,
    server: Server | None,
    ceiling: float | None,
    interrupted: bool,
) -> Summary:
    """Put a result into figures and say what bound them.

    `cores` are those of this machine that may be used, `server` is ``None`` where the server isn't ours to see, `ceiling` is
    what the engine reaches here at all, in requests a second.
    """
    generator = result.generator
    seen = evidence(result, think_s, cores, server, ceiling)
    bound_by, because = decide(seen)
    broken = laws.audit_load(result) if result.responses else []
    invalid = because if bound_by == "errors" else "; ".join(broken) or None
    if invalid is None and overloaded(seen, bound_by):
        answered = f"{result.responses / result.seconds:,.0f}/s of the {result.rate:,.0f}/s offered were answered"
        invalid = f"{answered}: latencies grow for as long as that lasts"
    target = None
    if server:
        target = TargetSummary(
            cpu_us_per_request=_per_request_us(server.cpu_s, result),
            utilisation=server.cpu_s / result.seconds,
            busy_processes=server.busy_processes,
        )
    return Summary(
        url=url,
        engine=result.engine,
        loop="closed" if result.rate is None else "open",
        connections=result.connections,
        rate=result.rate,
        seconds=result.seconds,
        interrupted=interrupted,
        requests=result.requests,
        responses=result.responses,
        requests_per_second=result.responses / result.seconds,
        at_least=bound_by == "generator",
        latency_ms=latency.decode(result.latency, result.waited).summary(),
        status=result.status,
        errors=result.errors,
        unanswered=result.unanswered,
        overdue=result.overdue,
        connects=result.connects,
        bytes_received=result.bytes_received,
        in_flight_mean=result.in_flight_mean,
        valid=invalid is None,
        invalid_because=invalid,
        bound_by=bound_by,
        bound_because=because,
        generator=GeneratorSummary(
            processes=generator.processes,
            cpu_us_per_request=_per_request_us(generator.cpu_user_s + generator.cpu_system_s, result),
            utilisation=generator.utilisation,
            ceiling_requests_per_second=ceiling,
            late_ms_p99=generator.late_ms_p99,
        ),
        target=target,
    )


def evidence(result: LoadResult, think_s: float, cores: int, server: Server | None, ceiling: float | None) -> Evidence:
    """Return what was seen, in the form that deciding what bound it takes; what a server waits for can't be seen from here."""
    generator = result.generator
    busy = max(1, server.busy_processes) if server else 1
    target_cpu = server.cpu_s / result.seconds if server else None
    threaded = target_cpu is not None and target_cpu > THREADED * busy
    return Evidence(
        error_share=sum(result.errors.values()) / result.requests if result.requests else None,
        connections=result.connections,
        rate=result.rate,
        think_s=think_s,
        sent_per_second=result.requests / result.seconds,
        overdue_share=result.overdue / (result.requests + result.overdue) if result.overdue else 0.0,
        late_ms_p99=generator.late_ms_p99,
        requests_per_second=result.responses / result.seconds,
        response_ms=latency.decode(result.latency).mean_ms,
        in_flight=result.in_flight_mean,
        generator_busiest=generator.utilisation,
        generator_cpu=(generator.cpu_user_s + generator.cpu_system_s) / result.seconds,
        generator_ceiling=ceiling,
        target_cpu=target_cpu,
        target_cores=cores,
        target_processes=busy if server and not threaded else None,
        target_shares=server is not None and generator.processes + busy > cores,
    )


def _per_request_us(seconds: float, result: LoadResult) -> float | None:
    return seconds / result.requests * 1e6 if result.requests else None
