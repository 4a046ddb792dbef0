"""``iobound run``: carry out experiments, judge them and write the report."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType

import click
import msgspec
from click.core import ParameterSource

from iobound import experiments, runs
from iobound.cli import options, stages
from iobound.cli.progress import Bar
from iobound.errors import UsageError, nearest
from iobound.lab import catalogue, service
from iobound.lab.laboratory import Laboratory
from iobound.lab.lock import MachineLock
from iobound.planning import NOTHING, Choice, estimate_s
from iobound.records import Plan, Workload

WITH_RESUME = {"resume", "as_json", "target_cores", "durable", *options.SERVICE_OPTIONS}  # the laboratory, not the plan
KNOWN = sorted(module.name for module in pkgutil.iter_modules(experiments.__path__))
TOUR = ["web", "equal"]


@click.command(short_help="Carry out experiments and report.")
@click.argument("names", metavar="[EXPERIMENT]...", nargs=-1)
@click.option("--quick", is_flag=True, help="Few launches, short blocks: about three minutes for the whole tour.")
@click.option("--budget", type=options.Duration(), help="Stop after about this long (default: by experiment).")
@click.option("--targets", type=options.NAMES, help="Compare these targets instead; the first is the baseline.")
@click.option("--workloads", type=options.WORKLOADS, help="Only these workloads, e.g. plain,sql-list:1000,db-wait:20.")
@click.option("--concurrency", type=options.CONNECTIONS, help="Connections of the closed loops, e.g. 1,10,100.")
@click.option("--rate", type=options.Rate(), help="Requests a second of the open loop.")
@click.option(
    "--precision", type=click.FloatRange(0.001, 1), default=0.05, show_default=True, help="Relative half-width to stop at."
)
@click.option("--target-cores", type=click.IntRange(min=1), default=1, show_default=True, help="Cores of the target.")
@click.option("--durable", is_flag=True, help="Flush at commit, as in production.")
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--dry-run", is_flag=True, help="Print the plan and its time; measure nothing.")
@click.option("--resume", type=click.Path(path_type=Path, exists=True), metavar="RUN", help="Continue an interrupted run.")
@click.option("--out", type=click.Path(path_type=Path), help="Run folder (default: ./iobound-runs/TIME).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@options.instead_of_private
def command(
    names: tuple[str, ...],
    quick: bool,
    budget: float | None,
    targets: tuple[str, ...] | None,
    workloads: tuple[Workload, ...] | None,
    concurrency: tuple[int, ...] | None,
    rate: float | None,
    precision: float,
    target_cores: int,
    durable: bool,
    seed: int,
    dry_run: bool,
    resume: Path | None,
    out: Path | None,
    as_json: bool,
    **urls: str | None,
) -> int:
    """Carry out EXPERIMENTs (default: the tour, all of them), judge what was measured and write a report.

    Example: iobound run web --quick
    """
    resumed = continued(resume) if resume else None
    folder = resume or out or runs.default_folder()
    chosen = [experiment(name) for name in dict.fromkeys(names) or (["web"] if targets else TOUR)]
    given = options.given_urls(urls)

    def planned(first_available: Callable[[list[str]], str]) -> Plan:
        choice = Choice(
            quick=quick,
            first_available=first_available,
            targets=targets or (),
            workloads=workloads or (),
            concurrency=concurrency or (),
            rate=rate,
        )
        return make_plan(chosen, choice, budget, precision, seed)

    if dry_run:
        show(planned(lambda names: likely(names, given)), as_json)
        return 0
    if resumed is None:
        planned(lambda names: names[0])  # what is asked wrongly is told before anything is started
        runs.check_new(folder)
    with MachineLock(), Laboratory(target_cores=target_cores, urls=given, durable=durable) as laboratory, Bar() as progress:
        progress("starting services", 0)
        plan = resumed.header.plan if resumed else planned(laboratory.first_available)
        run = stages.measure(folder, plan, laboratory, catalogue.find, progress, resumed)
    judgement = stages.report(run)
    stages.show(run, judgement, as_json)
    return stages.exit_code(judgement)


def continued(folder: Path) -> runs.Run:
    """Read the run that is to be continued; raises `UsageError` for an option that would change what it is."""
    run = runs.read(folder)
    if stages.COMMANDS in run.header.plan.experiments:
        raise UsageError(f"{folder} compares two commands and can't be continued; compare them again")
    context = click.get_current_context()
    for parameter in context.command.params:
        given = context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
        if given and parameter.name not in WITH_RESUME:
            raise UsageError(
                f"{parameter.opts[0]} can't be given with --resume, which continues the plan of {folder}; "
                "leave it out, or start another run"
            )
    return run


def likely(names: list[str], given: dict[str, str]) -> str:
    """Return the first of the services `names` that is given or could be started, without starting it."""
    return next((name for name in names if name in given or not service.find(name).unavailable()), names[0])


def experiment(name: str) -> ModuleType:
    """Return the module of the experiment called `name`; raises `UsageError` naming the nearest."""
    if name not in KNOWN:
        raise UsageError(nearest(name, KNOWN, "experiment"))
    return import_module(f"{experiments.__name__}.{name}")


def make_plan(chosen: list[ModuleType], choice: Choice, budget: float | None, precision: float, seed: int) -> Plan:
    """Put the questions of the chosen experiments into one plan; raises `UsageError` where they come to nothing."""
    question = NOTHING
    for each in chosen:
        question += each.plan(choice)
    if not question.cells:
        raise UsageError("nothing to measure: no chosen experiment asks these workloads; say of what with --targets")
    default = sum(each.QUICK_BUDGET_S if choice.quick else each.BUDGET_S for each in chosen)
    return Plan(
        experiments=[each.__name__.rpartition(".")[2] for each in chosen],
        cells=question.cells,
        comparisons=question.comparisons,
        launches=3 if choice.quick else 5,
        blocks_per_launch=1 if choice.quick else 2,
        block_s=0.8 if choice.quick else 1.0,
        warmup_s=0.2,
        budget_s=budget or default,
        precision=precision,
        seed=seed,
        quick=choice.quick,
    )


def show(plan: Plan, as_json: bool) -> None:
    """Print a plan and how long it takes."""
    seconds = min(plan.budget_s, estimate_s(plan)), plan.budget_s
    if as_json:
        click.echo(msgspec.json.encode({"plan": plan, "seconds": {"at_least": seconds[0], "budget": seconds[1]}}))
        return
    for comparison in plan.comparisons:
        control = " and the baseline again (A against A)" if comparison.control else ""
        click.echo(f"{comparison.id}: {comparison.question}{control}")
        for cell in plan.cells:
            if cell.id in comparison.cells:
                click.echo(f"    {cell.target}" + (f" on {cell.service}" if cell.service else ""))
    click.echo(
        f"{len(plan.cells)} cells, {plan.launches} launches or more, {plan.blocks_per_launch} block(s) of {plan.block_s:g} s "
        f"in each: {seconds[0]:.0f} s at least, {seconds[1]:.0f} s at most"
    )
