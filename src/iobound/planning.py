"""From questions to a plan: what is measured beside what, in which views. Nothing is measured or started here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from iobound.errors import UsageError
from iobound.lab import catalogue, service
from iobound.load.engine import DEFAULT
from iobound.records import Cell, Comparison, Plan, Rounds, View, Walk, Workload
from iobound.records.bulk import BadLines, Feeding, Statements, Transaction
from iobound.workloads import need

BLOCK_STARTUP_S = 0.35  # starting the generator's process and reading the probes, by the benchmark of this project
LAUNCH_STARTUP_S = 1.2  # starting and verifying a target
SCRIPT_LAUNCH_S = {"drivers": 1.0, "bulk": 0.8, "calls": 0.4, "transfer": 0.6}  # a launch of a cell in quick runs, measured

USUAL = [Workload(name=name) for name in ("plain", "file", "sql-list", "redis-get")]  # what targets are compared on unasked


@dataclass(frozen=True)
class Choice:
    """What the user asked for. What is empty or ``None`` is left to the experiment; `rate` ``None`` is half the capacity.

    `first_available` returns the first of some alternative services that can be had. Each experiment says in its ``FACTORS``
    which of the other fields it heeds. `rtt` are round-trip times to services, in milliseconds.
    """

    quick: bool
    first_available: Callable[[list[str]], str]
    targets: Sequence[str] = ()
    workloads: Sequence[Workload] = ()
    concurrency: Sequence[int] = ()
    rate: float | None = None
    rtt: Sequence[float] = ()
    settings: dict[str, str] = field(default_factory=dict)
    python: Sequence[str] = ()
    drivers: Sequence[str] = ()
    models: Sequence[str] = ()
    connections: Sequence[int] = ()
    primitives: Sequence[str] = ()
    lines: int | None = None
    data: Path | None = None
    transaction: Sequence[Transaction] = ()
    statements: Sequence[Statements] = ()
    feeder: Sequence[Feeding] = ()
    bad_lines: BadLines = "refuse"
    strategies: Sequence[str] = ()
    databases: Sequence[str] = ()
    isolation: Sequence[str] = ()


@dataclass(frozen=True)
class Question:
    """A part of a plan: the cells of some comparisons, and script experiments."""

    comparisons: list[Comparison] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)
    scripts: list[Rounds] = field(default_factory=list)
    walks: list[Walk] = field(default_factory=list)

    def __add__(self, other: Question) -> Question:
        return Question(
            [*self.comparisons, *other.comparisons],
            [*self.cells, *other.cells],
            [*self.scripts, *other.scripts],
            [*self.walks, *other.walks],
        )

    @property
    def rtts(self) -> set[float]:
        """The round-trip times to services that it is asked over."""
        return {cell.rtt_ms for cell in (*self.cells, *(cell for rounds in self.scripts for cell in rounds.cells))}


NOTHING = Question()


class Contender(Protocol):
    """What a cell must know of its target."""

    @property
    def name(self) -> str:
        """What it is called in cells and reports."""
        ...

    @property
    def service(self) -> str | None:
        """The service that it needs."""
        ...


@dataclass(frozen=True)
class SideBySide:
    """Targets that are asked the same: the first is the baseline. Makes the comparisons of each view."""

    experiment: str
    question: str
    targets: Sequence[Contender]
    workload: Workload
    settings: dict[str, str] = field(default_factory=dict)
    rtt_ms: float = 0.0

    def over(self, rtts: Sequence[float]) -> Iterator[SideBySide]:
        """Ask the same over each of the round-trip times; only once where no target calls a service over a network for it."""
        calls = need(self.workload) != "nothing" and any(over_network(target.service) for target in self.targets)
        return (replace(self, rtt_ms=rtt_ms) for rtt_ms in (rtts if calls and rtts else (0.0,)))

    def capacity(self, concurrency: int, engine: str = DEFAULT, control: bool = True) -> Question:
        """Compare closed loops with `concurrency` connections."""
        return self._comparison("capacity", concurrency, None, engine, control)

    def fixed_rate(self, concurrency: int, rate: float | None) -> Question:
        """Compare open loops at `rate` requests a second (``None``: half the capacity of the slowest)."""
        return self._comparison("fixed-rate", concurrency, rate, DEFAULT, True)

    def _comparison(self, view: View, concurrency: int, rate: float | None, engine: str, control: bool) -> Question:
        rtt = [f"rtt{self.rtt_ms:g}ms"] if self.rtt_ms else []
        of = [self.experiment, str(self.workload), view, f"c{concurrency}", *rtt, *([] if engine == DEFAULT else [engine])]
        cells = [
            Cell(
                id="/".join([*of, target.name]),
                experiment=self.experiment,
                target=target.name,
                workload=self.workload,
                view=view,
                concurrency=concurrency,
                rate=rate,
                engine=engine,
                service=target.service,
                settings=self.settings,
                rtt_ms=self.rtt_ms if over_network(target.service) else 0.0,
            )
            for target in self.targets
        ]
        comparison = Comparison(
            id="/".join(of),
            question=self.question,
            baseline=cells[0].id,
            cells=[cell.id for cell in cells],
            control=control,
            price=control and view == "capacity" and cells[0].service is not None,
        )
        return Question([comparison], cells)


def at_levels(
    experiment: str,
    id_: str,
    question: str,
    contenders: Sequence[tuple[str, Contender, Mapping[str, str]]],
    workload: Workload,
    concurrency: int,
    *,
    engine: str = DEFAULT,
    control: bool = False,
) -> Question:
    """Compare the capacities of targets, each with settings of its own; the first is the baseline.

    A contender is the name of its cell below `id_`, its target and its settings.
    """
    cells = [
        Cell(
            id=f"{id_}/{name}",
            experiment=experiment,
            target=target.name,
            workload=workload,
            view="capacity",
            concurrency=concurrency,
            rate=None,
            engine=engine,
            service=target.service,
            settings=dict(settings),
        )
        for name, target, settings in contenders
    ]
    ids = [cell.id for cell in cells]
    return Question([Comparison(id=id_, question=question, baseline=ids[0], cells=ids, control=control)], cells)


def chosen(experiment: str, choice: Choice) -> Question:
    """Compare the targets that the user named, on each workload, at each concurrency.

    Without workloads those of `USUAL` that all of the targets serve. Raises `UsageError` for a target that doesn't serve a
    workload.
    """
    question = NOTHING
    targets = [catalogue.find(name) for name in choice.targets]
    levels = choice.concurrency or (10,)
    usual = [workload for workload in USUAL if all(target.serves(workload) for target in targets)]
    workloads = choice.workloads or usual
    if not workloads:
        raise UsageError(f"no usual workload is served by all of {', '.join(choice.targets)}; name some with --workloads")
    for workload in workloads:
        for target in targets:
            if not target.serves(workload):
                raise UsageError(f"{target.name} doesn't serve the workload {workload}; `iobound list` shows what each needs")
        asked = SideBySide(experiment, "the targets that were named", targets, workload, choice.settings)
        for over in asked.over(choice.rtt):
            for concurrency in levels:
                question += over.capacity(concurrency)
            question += over.fixed_rate(levels[len(levels) // 2], choice.rate)
    return question


def over_network(name: str | None) -> bool:
    """Tell whether the service called `name` has a server, so that there is a way to it."""
    return name is not None and service.find(name).flag is not None


def repetition(cells: Sequence[Cell]) -> float:
    """Return how many times as many cells these are as they would be over one round-trip time."""
    asked = {(cell.target, cell.workload, cell.view, cell.concurrency, cell.engine) for cell in cells}
    return len(cells) / len(asked) if asked else 1.0


def as_plan(
    experiments: Sequence[str], question: Question, *, quick: bool, budget_s: float, precision: float, seed: int = 1
) -> Plan:
    """Return how a question is carried out: its web part within `budget_s` seconds, its scripts within their own budgets.

    Quickly means fewer launches and shorter blocks.
    """
    return Plan(
        experiments=list(experiments),
        cells=question.cells,
        comparisons=question.comparisons,
        launches=3 if quick else 5,
        blocks_per_launch=1 if quick else 2,
        block_s=0.8 if quick else 1.0,
        warmup_s=0.2,
        budget_s=budget_s,
        precision=precision,
        seed=seed,
        quick=quick,
        scripts=question.scripts,
        walks=question.walks,
    )


def estimate_s(plan: Plan) -> float:
    """Return how long carrying out `plan` takes at least, in seconds: its launches, starts and blocks."""
    controls = {comparison.baseline for comparison in plan.comparisons if comparison.control}
    blocks = (len(plan.cells) + len(controls)) * plan.blocks_per_launch
    starts = len({(cell.target, cell.service, cell.rtt_ms, cell.workload.rows) for cell in plan.cells}) + len(controls) / 2
    return plan.launches * (blocks * (plan.block_s + BLOCK_STARTUP_S) + starts * LAUNCH_STARTUP_S)


def scripts_s(plan: Plan) -> tuple[float, float]:
    """Return how long the script experiments of `plan` take at least, in seconds, and what their budgets come to.

    At least is a round, which is measured whole even where the budget is less; over round-trip times it takes longer.
    """
    launches = [(SCRIPT_LAUNCH_S[rounds.experiment], len(rounds.cells) + 1) for rounds in plan.scripts]
    return sum(launch_s * count for launch_s, count in launches), sum(rounds.budget_s for rounds in plan.scripts)
