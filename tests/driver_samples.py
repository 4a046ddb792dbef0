"""Cells and samples of the experiment ``drivers`` whose truth is known by construction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from iobound.analysis.sampled import Judged
from iobound.analysis.scripts import drivers
from iobound.records import (
    SCHEMA,
    DriverCell,
    DriverSample,
    DriverSummary,
    Environment,
    Failure,
    Noise,
    Plan,
    Rounds,
    RunHeader,
)
from iobound.records.drivers import Phase, PhaseUse, ProfiledPhase

QUIET = Noise(steal=0.0, foreign=0.0, pressure=None, quiet=True, because=None)
PHASES: list[Phase] = ["insert", "select", "point", "wide"]


def cell(driver: str, service: str = "postgresql", rtt_ms: float = 0.0, **other: Any) -> DriverCell:
    values: dict[str, Any] = {"title": driver, "rung": "driver", "beneath": None, **other}
    return DriverCell(
        id="/".join(["drivers", *filter(None, [values.get("python"), f"rtt{rtt_ms:g}ms" if rtt_ms else None]), driver]),
        service=service,
        rtt_ms=rtt_ms,
        driver=driver,
        rows=1000,
        inserts=1000,
        times={"select": 50, "point": 500, "wide": 50},
        most_s=1.0,
        **values,
    )


def use(
    wall_us: float, waiting: float = 0.5, statements: int = 100, queued: float = 0.0, round_trips: int | None = 100
) -> PhaseUse:
    """Statements that take `wall_us` each, in these shares; three quarters of the rest are in user mode."""
    wall = wall_us * statements / 1e6
    computing = wall * (1 - waiting - queued)
    return PhaseUse(
        statements=statements,
        rows=1000 * statements,
        wall_s=wall,
        user_s=computing * 0.75,
        system_s=computing * 0.25,
        runqueue_s=wall * queued,
        wait_s=wall * waiting,
        threads_s=0.0,
        database_s=wall * waiting / 2,
        round_trips=round_trips,
    )


def sample(of: DriverCell, launch: int = 0, **values: Any) -> DriverSample:
    """A launch; `select` and so on are the uses of a phase, of which the others have one of 100 us."""
    phases = {phase: values.pop(phase, use(100.0)) for phase in PHASES}
    fields: dict[str, Any] = {"control": False, "noise": QUIET, "profiled": {}, "stacks": {}, "unsampled": None, **values}
    return DriverSample(
        cell=of.id,
        launch=launch,
        started=0.0,
        ran={"driver": of.driver},
        phases=phases,
        json_s=fields.pop("json_s", 1e-3),
        **fields,
    )


def profiled(wall_us: float, calls: int, in_sockets: float = 0.0, statements: int = 10) -> ProfiledPhase:
    wall = wall_us * statements / 1e6
    return ProfiledPhase(
        statements=statements, wall_s=wall, runqueue_s=0.0, calls=calls * statements, sockets_s=wall * in_sockets
    )


def header(rounds: Rounds) -> RunHeader:
    plan = Plan(
        experiments=["drivers"],
        cells=[],
        comparisons=[],
        launches=3,
        blocks_per_launch=1,
        block_s=1.0,
        warmup_s=0.0,
        budget_s=0.0,
        precision=0.05,
        seed=1,
        quick=True,
        scripts=[rounds],
    )
    environment = Environment(
        host={}, cores=[0, 1], target_cores=[0], other_cores=[1], shared_cores=None, services=[], packages={}, ceilings=[]
    )
    return RunHeader(schema=SCHEMA, iobound="0", created=0.0, command=["run", "drivers"], plan=plan, environment=environment)


def planned(cells: Sequence[DriverCell]) -> Rounds:
    return Rounds(experiment="drivers", baseline=cells[0].id, cells=[*cells], rounds=3, budget_s=1.0)


def judged(
    *samples: tuple[DriverCell, DriverSample], cells: Sequence[DriverCell] = (), failures: Sequence[Failure] = ()
) -> Judged:
    """Judge samples and failures, of the planned `cells` where there are more than those sampled."""
    rounds = planned(cells or list({of.id: of for of, _ in samples}.values()))
    return drivers.judge(header(rounds), rounds, [*(seen for _, seen in samples), *failures])


def row(judgement: Judged, driver: str, phase: Phase = "select", rtt_ms: float = 0.0) -> DriverSummary:
    """Return the only result of a driver and a phase at a round-trip time."""
    [found] = [
        each
        for each in judgement.summaries
        if isinstance(each, DriverSummary) and (each.driver, each.phase, each.rtt_ms) == (driver, phase, rtt_ms)
    ]
    return found
