"""Synthetic records whose truth is known by construction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from hdrh.histogram import HdrHistogram

from iobound.records import (
    Ceiling,
    Cell,
    Comparison,
    CpuUse,
    Environment,
    Failure,
    GeneratorUse,
    LoadResult,
    Noise,
    Observation,
    Plan,
    RunHeader,
    ServiceInfo,
    ServiceUse,
    TimeSeries,
    Trial,
    Workload,
)

LONGEST_NS = 3_600_000_000_000


def histogram(latencies_ms: dict[float, int]) -> str:
    """Encode how often which latency occurred."""
    recorded = HdrHistogram(1, LONGEST_NS, 3)
    for milliseconds, count in latencies_ms.items():
        if count:
            recorded.record_value(round(milliseconds * 1e6), count)
    return recorded.encode().decode()


def load(
    *,
    rps: float = 1000.0,
    seconds: float = 1.0,
    connections: int = 10,
    rate: float | None = None,
    response_ms: float | None = None,
    errors: dict[str, int] | None = None,
    unanswered: int | None = None,
    engine: str = "iobound",
    generator: float = 0.1,
    ceiling: float | None = 20_000.0,
    late_ms: float | None = None,
    connects: int | None = None,
    status: str = "200",
    body_bytes: int = 100,
    **changes: Any,
) -> LoadResult:
    """One block: a closed loop with all connections in flight all the time, unless `response_ms` says otherwise."""
    responses = round(rps * seconds)
    failed = sum((errors or {}).values())
    open_ = connections if unanswered is None else unanswered
    if response_ms is None:
        response_ms = connections * seconds * 1e3 / max(1, responses + failed)
    result = LoadResult(
        engine=engine,
        started=0.0,
        seconds=seconds,
        connections=connections,
        rate=rate,
        requests=responses + failed + open_,
        responses=responses,
        unanswered=open_,
        status={status: responses},
        errors=errors or {},
        connects=connections if connects is None else connects,
        bytes_received=responses * body_bytes,
        in_flight_mean=(responses + failed) * response_ms / 1e3 / seconds,
        latency=histogram({response_ms: responses}),
        series=TimeSeries(
            step_ms=seconds * 1e3 / 10,
            responses=[responses // 10] * 9 + [responses - responses // 10 * 9],
            failures=[0] * 10,
            latency_sum_us=[round(responses * response_ms * 100)] * 10,
            latency_max_us=[round(response_ms * 1e3)] * 10,
        ),
        generator=GeneratorUse(
            processes=1,
            cpu_user_s=generator * seconds * 0.5,
            cpu_system_s=generator * seconds * 0.5,
            utilisation=generator,
            late_ms_p99=late_ms,
            ceiling_requests_per_second=ceiling,
        ),
    )
    return msgspec.structs.replace(result, **changes)


def service_use(
    requests: int, *, statements: float = 1.0, rows: float = 100.0, control: float = 0.0, **more: Any
) -> ServiceUse:
    """What a service counts for `requests`."""
    fields: dict[str, Any] = {"busy_s": None, "active_mean": None, "lock_waits_mean": None, "sessions_max": None}
    return ServiceUse(
        statements={"select": round(statements * requests)},
        transaction_control=round(control * requests),
        rows=round(rows * requests),
        **(fields | more),
    )


QUIET = Noise(steal=0.0, foreign=0.01, pressure=0.0, quiet=True, because=None)
NOISY = Noise(steal=0.2, foreign=0.01, pressure=0.3, quiet=False, because="the hypervisor took 20% of a core (limit 5%)")


def trial(
    cell: Cell,
    comparison: str = "comparison",
    *,
    launch: int = 0,
    block: int = 0,
    control: bool = False,
    target: float = 0.5,
    database: float | None = 0.0,
    other: float = 0.0,
    service: ServiceUse | None = None,
    quiet: bool = True,
    ran: dict[str, str] | None = None,
    rows_written: int | None = None,
    result: LoadResult | None = None,
    **of_load: Any,
) -> Trial:
    """One block of `cell`. `target` and `database` are utilisations of a core; what isn't named goes to `load`."""
    measured = result or load(connections=cell.concurrency, engine=cell.engine, rate=cell.rate, **of_load)
    return Trial(
        cell=cell.id,
        comparison=comparison,
        launch=launch,
        block=block,
        control=control,
        started=1.7e9,
        load=measured,
        cpu=CpuUse(
            target_user_s=target * measured.seconds * 0.8,
            target_system_s=target * measured.seconds * 0.2,
            database_s=None if database is None else database * measured.seconds,
            other_s=other,
        ),
        target_cores=1,
        service=service,
        noise=QUIET if quiet else NOISY,
        ran=ran or {},
        rows_written=rows_written,
    )


def cell(target: str = "flask", *, id_: str | None = None, workload: str | Workload = "plain", **more: Any) -> Cell:
    """A cell of the capacity view at 10 connections, unless told otherwise."""
    fields: dict[str, Any] = {"view": "capacity", "concurrency": 10, "rate": None, "engine": "iobound", "service": None}
    asked = Workload(name=workload) if isinstance(workload, str) else workload
    fields |= more
    name = id_ or "/".join([str(asked), fields["view"], f"c{fields['concurrency']}", fields["engine"], target])
    return Cell(id=name, experiment="web", target=target, workload=asked, **fields)


def comparison(cells: Sequence[Cell], id_: str = "comparison", control: bool = True) -> Comparison:
    """Cells held against the first."""
    return Comparison(id=id_, question="which?", baseline=cells[0].id, cells=[each.id for each in cells], control=control)


def plan(comparisons: Sequence[Comparison], cells: Sequence[Cell], launches: int = 3) -> Plan:
    """A plan with 5 % precision."""
    return Plan(
        experiments=["web"],
        cells=list(cells),
        comparisons=list(comparisons),
        launches=launches,
        blocks_per_launch=2,
        block_s=1.0,
        warmup_s=0.0,
        budget_s=60.0,
        precision=0.05,
        seed=1,
        quick=True,
    )


def environment(**changes: Any) -> Environment:
    """Two cores: one for the target, one that service and generator share."""
    found = Environment(
        host={},
        cores=[0, 1],
        target_cores=[1],
        other_cores=[0],
        shared_cores=None,
        services=[ServiceInfo(name="postgresql", version="18", source="test", settings={}, ping_us=80.0)],
        packages={},
        ceilings=[Ceiling(engine="iobound", concurrency=10, requests_per_second=20_000, cpu_us_per_request=20)],
    )
    return msgspec.structs.replace(found, **changes)


def header(of: Plan, where: Environment | None = None) -> RunHeader:
    """The head of a run."""
    return RunHeader(schema=1, iobound="test", created=1.7e9, command=["run"], plan=of, environment=where or environment())


def failure(
    of: Cell, stage: str = "start", reason: str = "port in use", comparison: str = "comparison", **more: Any
) -> Failure:
    """A cell that could not be measured."""
    fields: dict[str, Any] = {"launch": 0, "expected": False} | more
    return Failure(cell=of.id, comparison=comparison, stage=stage, reason=reason, **fields)  # type: ignore[arg-type]


def side_by_side(
    rates: dict[str, Sequence[float]], again: Sequence[float] = (), comparison_id: str = "comparison", **more: Any
) -> tuple[RunHeader, list[Observation]]:
    """A run of one comparison: requests a second by target and launch, the first target twice where `again` is given."""
    cells = [
        cell(target, **{k: v for k, v in more.items() if k in {"workload", "service", "view", "rate", "engine"}})
        for target in rates
    ]
    rest = {k: v for k, v in more.items() if k not in {"workload", "view", "rate", "engine"} and k != "service"}
    observations: list[Observation] = [
        trial(each, comparison_id, launch=launch, rps=rps, **rest)
        for each, series in zip(cells, rates.values(), strict=True)
        for launch, rps in enumerate(series)
    ]
    observations += [
        trial(cells[0], comparison_id, launch=launch, control=True, rps=rps, **rest) for launch, rps in enumerate(again)
    ]
    return header(plan([comparison(cells, comparison_id, control=bool(again))], cells)), observations
