"""Synthetic runs for the tests of the report: the four published comparisons, a sweep, and every kind of bad cell."""

from __future__ import annotations

import math
import random

from hdrh.histogram import HdrHistogram

from iobound.records import (
    SCHEMA,
    BoundBy,
    Ceiling,
    Cell,
    CellSummary,
    ClaimResult,
    Comparison,
    Control,
    CpuPerRequest,
    CpuUse,
    Ending,
    Environment,
    Evidence,
    Failure,
    Finding,
    GeneratorUse,
    Interval,
    Judgement,
    LoadResult,
    Noise,
    Observation,
    Plan,
    Progress,
    Ratio,
    RunHeader,
    ServiceInfo,
    TimeSeries,
    Trial,
    View,
    Workload,
)

HOSTILE = '<script>alert("x")</script>|`a`\n=1+1'


def around(estimate: float, spread: float = 0.03) -> Interval:
    return Interval(estimate=estimate, low=estimate * (1 - spread), high=estimate * (1 + spread))


def curve(median: float) -> list[tuple[float, float]]:
    """A long-tailed latency curve around `median` milliseconds."""
    normal = {0: -2.5, 10: -1.28, 25: -0.67, 50: 0, 75: 0.67, 90: 1.28, 95: 1.64, 99: 2.33, 99.5: 2.58, 99.9: 3.09, 99.95: 3.29}
    return [(percentile, median * math.exp(0.35 * z)) for percentile, z in normal.items()]


def progress(level: float, latency: float, launches: int, seed: str, steps_per_launch: int = 30) -> Progress:
    draw = random.Random(seed)
    steps = launches * steps_per_launch
    stalls = {draw.randrange(steps)}
    rates = [level * (0.45 if step in stalls else draw.gauss(1, 0.05)) for step in range(steps)]
    return Progress(
        at_s=[step / 10 for step in range(steps)],
        launch=[step // steps_per_launch for step in range(steps)],
        requests_per_second=rates,
        failures_per_second=[0.0] * steps,
        latency_max_ms=[latency * (6 if step in stalls else draw.uniform(1.5, 2.5)) for step in range(steps)],
    )


def summary(
    target: str,
    rps: float,
    *,
    experiment: str = "web",
    workload: str = "sql-list",
    view: View = "capacity",
    concurrency: int = 10,
    bound_by: BoundBy | None = "target-cpu",
    because: str = "the target used 98 % of its core",
    cpu: tuple[float, float, float] = (1000.0, 150.0, 250.0),
    engine: str = "iobound",
    invalid_because: str | None = None,
    launches: int = 3,
    settings: dict[str, str] | None = None,
    service: str | None = "mariadb",
) -> CellSummary:
    """One cell with figures that hang together."""
    median = 1000 * concurrency / rps if view == "capacity" else 1.3 * sum(cpu) / 1000
    user, system, database = cpu
    points = curve(median)
    comparison = "/".join([experiment, workload, view, f"c{concurrency}", *([] if engine == "iobound" else [engine])])
    return CellSummary(
        id=f"{comparison}/{target}",
        experiment=experiment,
        comparison=comparison,
        target=target,
        workload=workload,
        view=view,
        concurrency=concurrency,
        rate=None if view == "capacity" else rps,
        engine=engine,
        service=service,
        valid=invalid_because is None,
        invalid_because=invalid_because,
        at_least=bound_by == "generator",
        bound_by=bound_by,
        bound_because=because,
        requests_per_second=around(rps, 0.03 if view == "capacity" else 0.001),
        latency_ms={
            "p50": around(median),
            "p90": around(dict(points)[90], 0.05),
            "p99": around(dict(points)[99], 0.1),
            "p99.9": around(dict(points)[99.9], 0.2),
            "max": around(dict(points)[99.95] * 1.3, 0.3),
            "mean": around(median * 1.06),
        },
        cpu_us_per_request=CpuPerRequest(
            target_user=around(user),
            target_system=around(system),
            database=around(database) if service else None,
            generator=around(16.0 if engine == "iobound" else 980.0),
            other=around(22.0),
        ),
        wait_us_per_request=around(max(median * 1000 - sum(cpu), 50.0)),
        statements_per_request=1.0 if service else None,
        transaction_control_per_request=2.0 if service else None,
        rows_per_request=100.0 if service else None,
        in_flight=around(concurrency * 0.98 if view == "capacity" else rps * median / 1000),
        active_at_service=0.8 if service else None,
        target_utilisation=0.98 if bound_by == "target-cpu" else 0.42,
        generator_utilisation=0.99 if bound_by == "generator" else 0.11,
        ran={"python": "3.11.2", "server": "uvicorn 0.38.0", "loop": "uvloop.Loop", "driver": "aiomysql 0.3.2"},
        settings={"POOL_SIZE": "10", **(settings or {})},
        launches=launches,
        blocks=launches * 3,
        noisy_blocks=1,
        percentile_curve=points,
        progress=progress(rps, dict(points)[90], launches, f"{comparison}{target}{engine}"),
    )


def plan(cells: list[CellSummary], questions: dict[str, str]) -> Plan:
    """The plan that leads to `cells`; the first of each comparison is its baseline."""
    members: dict[str, list[str]] = {}
    for cell in cells:
        members.setdefault(cell.comparison, []).append(cell.id)
    return Plan(
        experiments=list(dict.fromkeys(cell.experiment for cell in cells)),
        cells=[
            Cell(
                id=cell.id,
                experiment=cell.experiment,
                target=cell.target,
                workload=Workload(name=cell.workload),
                view=cell.view,
                concurrency=cell.concurrency,
                rate=cell.rate,
                engine=cell.engine,
                service=cell.service,
                settings=cell.settings,
            )
            for cell in cells
        ],
        comparisons=[
            Comparison(id=name, question=questions.get("/".join(name.split("/")[:2]), ""), baseline=ids[0], cells=ids)
            for name, ids in members.items()
        ],
        launches=3,
        blocks_per_launch=3,
        block_s=1.0,
        warmup_s=0.5,
        budget_s=180.0,
        precision=0.05,
        seed=20240607,
        quick=True,
    )


def header(plan: Plan) -> RunHeader:
    return RunHeader(
        schema=SCHEMA,
        iobound="0.1.0",
        created=1_764_510_000.0,
        command=["run", "web", "--quick", "--seed", "20240607"],
        plan=plan,
        environment=Environment(
            host={
                "system": "Linux 6.1.0",
                "processor": "AMD EPYC 7B13",
                "hypervisor": "yes",
                "memory": "8 GiB",
                "python": "CPython 3.11.2",
            },
            cores=[0, 1],
            target_cores=[0],
            other_cores=[1],
            shared_cores="load generator and database share core 1",
            services=[
                ServiceInfo(
                    name="mariadb",
                    version="10.11.6",
                    source="started privately: mariadbd on PATH",
                    settings={"innodb_flush_log_at_trx_commit": "0", "max_connections": "400", "sync_binlog": "0"},
                    ping_us=68.0,
                ),
                ServiceInfo(
                    name="valkey", version="9.1.0", source="wheel", settings={"save": "", "io-threads": "1"}, ping_us=21.0
                ),
            ],
            packages={
                "catalogue-3.11": {"aiohttp": "3.13.2", "flask": "3.1.2", "starlette": "0.50.0", "uvicorn": "0.38.0"},
                "locust": {"locust": "2.42.3"},
            },
            ceilings=[
                Ceiling(engine="iobound", concurrency=10, requests_per_second=41_200.0, cpu_us_per_request=14.2),
                Ceiling(engine="locust:HttpUser", concurrency=10, requests_per_second=1_040.0, cpu_us_per_request=952.0),
            ],
        ),
    )


QUESTIONS = {
    "web/plain": "no I/O",
    "web/file": "reading a file",
    "web/sql-list": "MySQL through an ORM",
    "web/redis-get": "Redis",
    "drivers/sql-point": "how does throughput grow with concurrency?",
}


def tour_cells() -> list[CellSummary]:
    """The four published comparisons in both views, a sweep over concurrency, and bad cells of every kind."""
    cells: list[CellSummary] = []

    def pair(
        experiment: str, workload: str, service: str | None, *targets: tuple[str, float, tuple[float, float, float]]
    ) -> None:
        for target, rps, cpu in targets:
            cells.append(summary(target, rps, experiment=experiment, workload=workload, service=service, cpu=cpu))
        for target, _, (user, system, database) in targets:
            cells.append(
                summary(
                    target,
                    round(targets[0][1] / 2),
                    experiment=experiment,
                    workload=workload,
                    service=service,
                    view="fixed-rate",
                    cpu=(user * 1.3, system * 1.3, database * 1.2),
                    bound_by="concurrency",
                    because="the target used 44 % of its core at this rate",
                )
            )

    flask, starlette = "flask-as-published", "starlette-as-published"
    pair(
        "web",
        "plain",
        None,
        (flask, 1380.0, (560.0, 130.0, 0.0)),
        ("aiohttp-as-published", 9440.0, (78.0, 26.0, 0.0)),
        (starlette, 4100.0, (190.0, 48.0, 0.0)),
    )
    limit = "locust:HttpUser used 100 % of its core, the target 18 %"
    for target, rps in ((flask, 702.0), ("aiohttp-as-published", 1050.0), (starlette, 741.0)):
        cells.append(
            summary(
                target,
                rps,
                experiment="web",
                workload="plain",
                engine="locust:HttpUser",
                bound_by="generator",
                because=limit,
                cpu=(150.0, 40.0, 0.0),
                service=None,
            )
        )
    pair(
        "web",
        "file",
        None,
        ("flask-file-as-published", 1210.0, (640.0, 160.0, 0.0)),
        ("aiohttp-file-as-published", 1630.0, (430.0, 170.0, 0.0)),
        ("starlette-file-as-published", 1105.0, (660.0, 230.0, 0.0)),
    )
    pair(
        "web",
        "sql-list",
        "mariadb",
        ("flask-sql-as-published", 201.0, (4300.0, 380.0, 410.0)),
        ("starlette-sql-as-published", 652.0, (1380.0, 120.0, 300.0)),
        ("flask/gunicorn-gthread/sqlalchemy-mysqlclient", 612.0, (1440.0, 150.0, 290.0)),
    )
    cells.append(
        summary(
            "starlette-sql-post-as-published",
            640.0,
            experiment="web",
            bound_by="errors",
            because="100 % of the requests were answered 500",
            invalid_because="every request was answered 500: the handler does not await request.json()",
        )
    )
    pair(
        "web",
        "redis-get",
        "valkey",
        ("flask-redis-as-published", 690.0, (1210.0, 210.0, 14.0)),
        ("starlette-redis-as-published", 2610.0, (310.0, 62.0, 11.0)),
    )
    for target, service_cpu, curve_ in (
        ("flask/gunicorn-gthread/psycopg", (900.0, 140.0, 190.0), {1: 610.0, 10: 905.0, 100: 880.0}),
        ("starlette/uvicorn-uvloop/asyncpg", (430.0, 90.0, 180.0), {1: 980.0, 10: 1830.0, 100: 1790.0}),
        ("aiohttp/aiohttp-server/psycopg-async", (520.0, 110.0, 185.0), {1: 810.0, 10: 1490.0, 100: 1310.0}),
        ("bare-wsgi/gunicorn-sync/psycopg", (210.0, 60.0, 170.0), {1: 1240.0, 10: 2350.0, 100: 1990.0}),
    ):
        for concurrency, rps in curve_.items():
            noisy = (target, concurrency) == ("bare-wsgi/gunicorn-sync/psycopg", 100)
            bound_by: BoundBy = "concurrency" if concurrency == 1 else "noise" if noisy else "target-cpu"
            if target.startswith("flask") and concurrency == 100:
                bound_by = "workers"
            because = {
                "concurrency": "one request in flight; the target idled 38 % of the time",
                "noise": "7 of 9 blocks saw more than 6 % foreign CPU",
                "workers": "all 10 threads were taken, the core had 22 % left",
            }.get(bound_by, "the target used 98 % of its core")
            cells.append(
                summary(
                    target,
                    rps,
                    experiment="drivers",
                    workload="sql-point",
                    concurrency=concurrency,
                    bound_by=bound_by,
                    because=because,
                    cpu=service_cpu,
                    service="postgresql",
                    settings={"THREADS": "10"} if "gthread" in target else None,
                )
            )
    return cells


def judgement(cells: list[CellSummary], plan: Plan) -> Judgement:
    """A judgement of `cells` whose ratios, controls, findings and claims fit them."""
    by_id = {cell.id: cell for cell in cells}
    ratios = []
    for comparison in plan.comparisons:
        baseline = by_id[comparison.baseline]
        for name in comparison.cells[1:]:
            cell = by_id[name]
            assert cell.requests_per_second and baseline.requests_per_second
            if not cell.valid or cell.at_least:
                reason = cell.invalid_because or "bound by the generator"
                ratios.append(_not_ranked(cell, baseline, reason))
            elif cell.view == "capacity":
                value = cell.requests_per_second.estimate / baseline.requests_per_second.estimate
                verdict = "tie" if abs(value - 1) < 0.1 else "faster" if value > 1 else "slower"
                ratios.append(
                    Ratio(
                        comparison=comparison.id,
                        metric="requests_per_second",
                        cell=cell.id,
                        baseline=baseline.id,
                        ratio=around(value),
                        verdict=verdict,
                        reason=None,
                    )
                )
            else:
                assert cell.cpu_us_per_request and baseline.cpu_us_per_request
                assert cell.cpu_us_per_request.target_user and baseline.cpu_us_per_request.target_user
                value = cell.cpu_us_per_request.target_user.estimate / baseline.cpu_us_per_request.target_user.estimate
                ratios.append(
                    Ratio(
                        comparison=comparison.id,
                        metric="cpu_us_per_request",
                        cell=cell.id,
                        baseline=baseline.id,
                        ratio=around(value),
                        verdict="faster" if value < 0.95 else "slower" if value > 1.05 else "tie",
                        reason=None,
                    )
                )
    return Judgement(
        verdict=(
            "The published advantage of async is mostly the load tool's: Locust stops at about 1,050 requests/s.\n"
            "Driven harder, Starlette serves 2.97x [2.83, 3.11] as many requests as Flask's development server without I/O and "
            "3.24x [3.09, 3.40] through the ORM.\n"
            "Behind gunicorn and with mysqlclient, Flask reaches 0.94x [0.89, 0.99] of Starlette on the same rows: "
            "the driver and the server make the difference, not the concurrency model."
        ),
        cells=cells,
        ratios=ratios,
        controls=[
            Control(
                comparison=comparison.id,
                metric="requests_per_second" if "capacity" in comparison.id else "cpu_us_per_request",
                ratio=Interval(estimate=1.01, low=0.97, high=1.05),
                detectable=0.05,
            )
            for comparison in plan.comparisons
        ],
        findings=[
            Finding(
                rule="database-idle",
                status="absent",
                statement="The database was not the limit of any cell.",
                evidence=[Evidence(what="database CPU", observed=0.14, threshold=0.9, unit="cores")],
            ),
            Finding(
                rule="generator-bound",
                status="present",
                statement="Three cells were limited by the load generator, not by the target.",
                evidence=[
                    Evidence(
                        what="CPU of locust:HttpUser",
                        observed=1.0,
                        threshold=0.9,
                        unit="cores",
                        cell="web/plain/capacity/c10/locust:HttpUser/starlette-as-published",
                    ),
                    Evidence(what="ceiling of locust:HttpUser", observed=1040.0, threshold=None, unit="requests/s"),
                ],
                advice="Read these figures as 'at least', or drive the targets with --engine iobound.",
            ),
            Finding(
                rule="effective-concurrency",
                status="inconclusive",
                statement="Fewer sessions were active at the database than connections were configured.",
                evidence=[Evidence(what="active sessions", observed=0.8, threshold=9.0, unit="sessions")],
                advice="Measure again with longer blocks: --block 5s.",
            ),
            Finding(
                rule="pool-queue",
                status="not-measured",
                statement="The target doesn't tell how long requests wait for its pool.",
            ),
        ],
        claims=[
            _claim("no-io", "flask-as-published", 463.0, cells[0], None, "the target used 97% of a core"),
            _claim("no-io", "starlette-as-published", 1539.0, cells[8], None, "the generator used 99% of its core"),
            _claim("no-io", "starlette-as-published", 1539.0, cells[2], None, "the target used 97% of a core"),
            *(
                ClaimResult(
                    claim="three-times-faster",
                    source="the article's table",
                    statement="Async is 3 times faster: starlette-as-published against flask-as-published",
                    unit="x",
                    published=3.0,
                    here=around(times),
                    bound_here=cell.bound_by,
                    cell=cell.id,
                    result=result,
                    because="both bound by their own CPU",
                    ratio=around(times / 3),
                )
                for times, cell, result in ((1.06, cells[8], None), (2.97, cells[2], "holds"))
            ),
            ClaimResult(
                claim="aiohttp-mysql",
                source="the article's table",
                statement="aiohttp, MySQL",
                unit="requests/s",
                published=None,
                here=None,
                bound_here=None,
                cell=None,
                result="not-measured",
                because="no figure was published",
            ),
        ],
        not_measured=[
            Failure(
                cell=cells[0].id,
                comparison=cells[0].comparison,
                launch=2,
                stage="start",
                reason="the port didn't open within 30 s; the last line of its log: OSError: [Errno 98] Address already in use",
            ),
            Failure(
                cell="web/sql-list/capacity/c10/starlette-sql-post-as-published",
                comparison="web/sql-list/capacity/c10",
                launch=1,
                stage="verify",
                reason="expected status 200, got 500",
                expected=True,
            ),
        ],
        endings=[
            Ending(comparison=comparison.id, why="precision" if number % 3 else "budget", seconds=21.4)
            for number, comparison in enumerate(plan.comparisons)
        ],
    )


def _not_ranked(cell: CellSummary, baseline: CellSummary, reason: str) -> Ratio:
    return Ratio(
        comparison=cell.comparison,
        metric="requests_per_second",
        cell=cell.id,
        baseline=baseline.id,
        ratio=None,
        verdict="not-ranked",
        reason=reason,
    )


def _claim(claim: str, statement: str, published: float, cell: CellSummary, result: str, because: str) -> ClaimResult:
    assert cell.requests_per_second
    return ClaimResult(
        claim=claim,
        source="the article's table",
        statement=statement,
        unit="requests/s",
        published=published,
        here=cell.requests_per_second,
        bound_here=cell.bound_by,
        cell=cell.id,
        result=result,
        because=because,
        ratio=around(cell.requests_per_second.estimate / published),
    )


def tour() -> tuple[RunHeader, Judgement]:
    """A whole run as `make run` leaves it."""
    cells = tour_cells()
    made = plan(cells, QUESTIONS)
    return header(made), judgement(cells, made)


def block(cell: Cell, comparison: str, launch: int, rps: float, *, control: bool = False, failed: int = 0) -> Trial:
    """One quiet block of a second, in which a target on one core is the limit."""
    median_ms = 1000 * cell.concurrency / rps
    latencies = HdrHistogram(1, 3_600_000_000_000, 3)
    latencies.record_value(round(median_ms * 1e6), round(rps))
    steps = 10
    return Trial(
        cell=cell.id,
        comparison=comparison,
        launch=launch,
        block=0,
        control=control,
        started=float(launch),
        load=LoadResult(
            engine=cell.engine,
            started=0.0,
            seconds=1.0,
            connections=cell.concurrency,
            rate=None,
            requests=round(rps) + failed + cell.concurrency,
            responses=round(rps),
            unanswered=cell.concurrency,
            status={"200": round(rps), **({"500": failed} if failed else {})},
            errors={"bad-status": failed} if failed else {},
            connects=cell.concurrency,
            bytes_received=round(rps) * 120,
            in_flight_mean=cell.concurrency,
            latency=latencies.encode().decode(),
            series=TimeSeries(
                step_ms=100.0,
                responses=[round(rps / steps)] * steps,
                failures=[failed // steps] * steps,
                latency_sum_us=[round(rps / steps * median_ms * 1e3)] * steps,
                latency_max_us=[round(median_ms * 1e3)] * steps,
            ),
            generator=GeneratorUse(
                processes=1,
                cpu_user_s=0.02,
                cpu_system_s=0.01,
                utilisation=0.03,
                late_ms_p99=None,
                ceiling_requests_per_second=41_200.0,
            ),
        ),
        cpu=CpuUse(target_user_s=0.8, target_system_s=0.18, database_s=0.0, other_s=0.01),
        target_cores=1,
        service=None,
        noise=Noise(steal=0.0, foreign=0.01, pressure=0.0, quiet=True, because=None),
        ran={"python": "3.11.2", "workers": "1"},
    )


def measured(failed: int = 0) -> tuple[RunHeader, list[Observation]]:
    """A run of two targets, not yet judged; `failed` of the requests of each block were answered 500."""
    of = plan(
        [summary("slow", 1000.0, workload="plain", service=None), summary("fast", 3000.0, workload="plain", service=None)], {}
    )
    (comparison,) = of.comparisons
    observations: list[Observation] = []
    for launch, around_it in enumerate((0.99, 1.0, 1.01)):
        for cell, rps in zip(of.cells, (1000.0, 3000.0), strict=True):
            observations.append(block(cell, comparison.id, launch, rps * around_it, failed=failed))
        observations.append(block(of.cells[0], comparison.id, launch, 1000.0 * around_it, control=True))
    observations.append(Ending(comparison=comparison.id, why="launches", seconds=9.0))
    return header(of), observations
