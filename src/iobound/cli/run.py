"""``iobound run``: carry out experiments, judge them and write the report."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from pathlib import Path
from types import ModuleType

import click

from iobound import experiments, runs
from iobound.cli import options, stages
from iobound.cli.progress import Bar
from iobound.errors import UsageError, nearest
from iobound.lab import catalogue
from iobound.lab.laboratory import Laboratory
from iobound.lab.lock import MachineLock
from iobound.planning import NOTHING, Choice, estimate_s
from iobound.records import Plan, Workload
from iobound.report import json, terminal

KNOWN = sorted(module.name for module in pkgutil.iter_modules(experiments.__path__))
TOUR = ["web", "equal"]


@click.command()
@click.argument("names", metavar="[EXPERIMENT]...", nargs=-1)
@click.option("--quick", is_flag=True, help="Few launches, short blocks: about three minutes for the whole tour.")
@click.option("--budget", type=options.Duration(), help="Stop after about this long (default: by experiment).")
@click.option("--targets", type=options.NAMES, help="Compare these targets instead; the first is the baseline.")
@click.option("--workloads", type=options.WORKLOADS, help="Only these workloads, e.g. plain,sql-list:1000,db-wait:20.")
@click.option("--concurrency", type=options.CONNECTIONS, help="Connections of the closed loops, e.g. 1,10,100.")
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), help="Requests a second of the open loop.")
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
@options.service_urls
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
    resumed = runs.read(resume) if resume else None
    chosen = [experiment(name) for name in names or (["web"] if targets else TOUR)]
    with (
        MachineLock(),
        Laboratory(target_cores=target_cores, urls=options.given_urls(urls), durable=durable) as laboratory,
        Bar() as progress,
    ):
        if resumed:
            plan = resumed.header.plan
        else:
            progress("starting services", 0)
            choice = Choice(
                quick=quick,
                first_available=laboratory.first_available,
                targets=targets or (),
                workloads=workloads or (),
                concurrency=concurrency or (),
                rate=rate,
            )
            plan = make_plan(chosen, choice, budget, precision, seed)
        if dry_run:
            show(plan, as_json)
            return 0
        folder = resume or out or runs.default_folder()
        try:
            stages.measure(folder, plan, laboratory, catalogue.find, progress, resumed)
        except BaseException:
            if (folder / runs.HEADER).exists() and (run := runs.read(folder)).observations:
                stages.report(run)
                click.echo(
                    f"iobound: kept what was measured in {folder}; continue with: iobound run --resume {folder}", err=True
                )
            raise
    run = runs.read(folder)
    judgement = stages.report(run)
    if as_json:
        click.echo(json.render(run.header, judgement, run.folder))
    else:
        terminal.render(run.header, judgement, terminal.console())
        click.echo(f"\nReport: {folder / stages.REPORT}")
    return stages.exit_code(judgement)


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
        raise UsageError("nothing to measure: no chosen experiment has these workloads; `iobound list` shows them")
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
        import msgspec

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
