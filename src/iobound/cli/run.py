"""``iobound run``: carry out experiments, judge them and write the report."""

from __future__ import annotations

import dataclasses
import pkgutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import msgspec
from click.core import ParameterSource
from msgspec.structs import replace

from iobound import experiments, runs
from iobound.cli import options, stages
from iobound.cli.progress import Bar
from iobound.errors import UsageError, nearest
from iobound.lab import catalogue, service
from iobound.lab.laboratory import Laboratory
from iobound.lab.lock import MachineLock
from iobound.planning import NOTHING, Choice, as_plan, estimate_s, repetition, scripts_s
from iobound.records import Plan

# what is said of the laboratory, not of the plan
WITH_RESUME = {"resume", "as_json", "target_cores", "durable", "jitter", *options.SERVICE_OPTIONS}
KNOWN = sorted(module.name for module in pkgutil.iter_modules(experiments.__path__))
TOUR = ["web", "equal", "drivers", "bulk", "calls"]
FACTORS = {field.name for field in dataclasses.fields(Choice)} - {"quick", "first_available", "settings"}


@click.command(short_help="Carry out experiments and report.")
@click.argument("names", metavar="[EXPERIMENT]...", nargs=-1)
@click.option("--quick", is_flag=True, help="Few launches, short blocks: about three minutes for the whole tour.")
@click.option("--budget", type=options.Duration(), help="Stop after about this long (default: by experiment).")
@options.factors
@click.option(
    "--precision",
    type=click.FloatRange(0.001, 1),
    default=0.05,
    show_default=True,
    help="Of web targets: relative half-width to stop at.",
)
@click.option("--target-cores", type=click.IntRange(min=1), default=1, show_default=True, help="Cores of the target.")
@click.option("--durable", is_flag=True, help="Flush at commit, as in production.")
@click.option("--jitter", type=options.Duration(), help="By how much the times of --rtt vary, up and down, e.g. 0.2ms.")
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
    precision: float,
    target_cores: int,
    durable: bool,
    jitter: float | None,
    seed: int,
    dry_run: bool,
    resume: Path | None,
    out: Path | None,
    as_json: bool,
    **given: Any,
) -> int:
    """Carry out EXPERIMENTs, judge what was measured and write a report.

    Without a name it is the tour: web, equal, drivers, bulk and calls. `iobound list` shows all experiments.

    Exits with 1 where an answer was wrong, or accounts were that a strategy of transfer keeps right by its nature; with 3
    where nothing could be started, with 4 where nothing measured says anything.

    Example: iobound run web --quick
    """
    resumed = continued(resume) if resume else None
    folder = resume or out or runs.default_folder()
    chosen = [experiment(name) for name in dict.fromkeys(names) or (["web"] if given["targets"] else TOUR)]
    urls = options.given_urls(given)
    factors = {name: value for name, value in given.items() if name in FACTORS and value is not None}
    for factor in factors:
        if not any(factor in each.FACTORS for each in chosen):
            raise UsageError(not_heeded(factor, chosen))
    if jitter and resumed is None and not any(factors.get("rtt", ())):
        raise UsageError("--jitter varies the times of --rtt, and there are none; add for example --rtt 1ms, or leave it out")

    def planned(first_available: Callable[[list[str]], str]) -> Plan:
        choice = Choice(quick=quick, first_available=first_available, **factors)
        return make_plan(chosen, choice, budget, precision, seed)

    if dry_run:
        show(planned(lambda names: likely(names, urls)), as_json)
        return 0
    if resumed is None:
        planned(lambda names: names[0])  # what is asked wrongly is told before anything is started
        runs.check_new(folder)
    lab = Laboratory(target_cores=target_cores, urls=urls, durable=durable, jitter_ms=(jitter or 0.0) * 1e3)
    with MachineLock(), lab as laboratory, Bar() as progress:
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


def not_heeded(factor: str, chosen: list[ModuleType]) -> str:
    """Say of what experiments an option is, none of which is among the chosen."""
    asked = " and ".join(name_of(each) for each in chosen)
    having = [name for name in KNOWN if factor in experiment(name).FACTORS]
    return f"--{factor.replace('_', '-')} isn't a factor of {asked}; it is of {' and '.join(having)}"


def name_of(chosen: ModuleType) -> str:
    """Return what an experiment is called."""
    return chosen.__name__.rpartition(".")[2]


def make_plan(chosen: list[ModuleType], choice: Choice, budget: float | None, precision: float, seed: int) -> Plan:
    """Put the questions of the chosen experiments into one plan; raises `UsageError` where they come to nothing."""
    asked = {each: each.plan(choice) for each in chosen}
    question = sum(asked.values(), NOTHING)
    if not question.cells and not question.scripts:
        way_out = "say of what with --targets" if any("targets" in each.FACTORS for each in chosen) else "leave --workloads out"
        raise UsageError(f"nothing to measure: no chosen experiment asks these workloads; {way_out}")
    if any(choice.rtt) and not any(question.rtts):
        raise UsageError("--rtt: nothing that is measured here calls a service over a network; leave it out")
    web_s = sum(
        repetition(of.cells) * (each.QUICK_BUDGET_S if choice.quick else each.BUDGET_S)
        for each, of in asked.items()
        if of.cells
    )
    stretch = budget / (web_s + sum(rounds.budget_s for rounds in question.scripts)) if budget else 1.0
    scripts = [
        replace(each, budget_s=each.budget_s * stretch, rounds=max(each.rounds, int(each.rounds * stretch)))
        for each in question.scripts
    ]
    return as_plan(
        [name_of(each) for each in chosen],
        dataclasses.replace(question, scripts=scripts),
        quick=choice.quick,
        budget_s=web_s * stretch,
        precision=precision,
        seed=seed,
    )


def show(plan: Plan, as_json: bool) -> None:
    """Print a plan and how long it takes."""
    scripts = scripts_s(plan)
    seconds = min(plan.budget_s, estimate_s(plan)) + scripts[0], plan.budget_s + scripts[1]
    if as_json:
        click.echo(msgspec.json.encode({"plan": plan, "seconds": {"at_least": seconds[0], "budget": seconds[1]}}))
        return
    for comparison in plan.comparisons:
        control = " and the baseline again (A against A)" if comparison.control else ""
        click.echo(f"{comparison.id}: {comparison.question}{control}")
        for cell in plan.cells:
            if cell.id in comparison.cells:
                click.echo(f"    {cell.target}" + (f" on {cell.service}" if cell.service else ""))
    if plan.cells:
        click.echo(
            f"{len(plan.cells)} cells, {plan.launches} launches or more, "
            f"{plan.blocks_per_launch} block(s) of {plan.block_s:g} s in each"
        )
    for rounds in plan.scripts:
        click.echo(f"{rounds.experiment}: {len(rounds.cells)} cells, at most {rounds.rounds} launches of each, in rounds")
        for script in rounds.cells:
            click.echo(f"    {script.id}" + (" and again (A against A)" if script.id == rounds.baseline else ""))
    most = f", {seconds[1]:.0f} s at most" if seconds[0] <= seconds[1] else ": a first round is whole even beyond the budget"
    click.echo(f"{seconds[0]:.0f} s at least{most}")
