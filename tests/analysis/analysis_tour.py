"""A synthetic tour of the published programs, after what was measured on a two-core machine, with every figure known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis_builders import cell, comparison, environment, header, plan, service_use, trial

from iobound.records import Cell, Comparison, Observation, RunHeader, ServiceInfo

LAUNCHES = 3
SPREAD = (0.99, 1.02, 0.99)  # of the launches; what is common to contenders
SINGLE = {0: (1.0, 1.01, 0.99), 1: (1.01, 0.99, 1.0), 2: (0.99, 1.0, 1.01)}  # of each contender by itself


@dataclass(frozen=True)
class Program:
    """What a program really does: requests a second at its limit, by Locust, and the CPU of target and database at it."""

    target: str
    capacity: float
    by_locust: float
    database: float = 0.0
    closes: bool = False
    control: float = 0.0
    server: str = "uvicorn 0.40"


PLAIN = [
    Program("flask-as-published", 1380, 700, closes=True, server="Werkzeug/3.1"),
    Program("aiohttp-as-published", 9440, 1050),
    Program("starlette-as-published", 4100, 740),
]
SQL = [
    Program("flask-sql-as-published@postgresql", 200, 198, database=0.12, closes=True, control=2, server="Werkzeug/3.1"),
    Program("starlette-sql-as-published@postgresql", 650, 640, database=0.15),
]


def capacity(
    programs: Sequence[Program], workload: str, service: str | None, engine: str
) -> tuple[list[Cell], Comparison, list[Observation]]:
    """One comparison in the capacity view, with its blocks."""
    locust = engine != "iobound"
    cells = [cell(each.target, workload=workload, service=service, engine=engine) for each in programs]
    id_ = f"web/{workload}/capacity/c10/{engine}"
    seen: list[Observation] = []
    for number, (each, program) in enumerate(zip(cells, programs, strict=True)):
        rps = program.by_locust if locust else program.capacity
        busy = 0.98 * rps / program.capacity
        for launch in range(LAUNCHES):
            here = rps * SPREAD[launch] * SINGLE[number][launch]
            for control in (False, True) if number == 0 and not locust else (False,):
                use = service_use(round(here) + 10, control=program.control, active_mean=1.2) if service else None
                seen.append(
                    trial(
                        each,
                        id_,
                        launch=launch,
                        control=control,
                        rps=here,
                        target=busy,
                        database=program.database * rps / program.capacity,
                        generator=(0.98 if workload == "plain" else 0.3) if locust else 0.1 * here / 3000,
                        connects=round(here) + 10 if program.closes else 10,
                        service=use,
                        ran={"server": program.server},
                        ceiling=None if locust else 30_000,
                        body_bytes=200 if workload == "plain" else 5000,
                    )
                )
    return cells, comparison(cells, id_, control=not locust), seen


def tour(locust: bool = True) -> tuple[RunHeader, list[Observation]]:
    """The tour: no I/O and a list from PostgreSQL, by iobound and (as published) by Locust."""
    parts = [
        capacity(programs, workload, service, engine)
        for programs, workload, service in ((PLAIN, "plain", None), (SQL, "sql-list", "postgresql"))
        for engine in (["iobound", "locust:HttpUser"] if locust else ["iobound"])
    ]
    cells = [each for part in parts for each in part[0]]
    services = [ServiceInfo(name="postgresql", version="18", source="test", settings={}, ping_us=90.0)]
    of = header(plan([part[1] for part in parts], cells, launches=LAUNCHES), environment(services=services))
    return of, [each for part in parts for each in part[2]]
