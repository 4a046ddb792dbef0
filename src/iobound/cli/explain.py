"""``iobound explain``: what the ratio of two targets is made of, one factor at a time."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import click
import msgspec
from msgspec.structs import replace

from iobound import runs
from iobound.cli import options, stages
from iobound.cli.progress import Bar
from iobound.errors import UsageError
from iobound.lab import catalogue
from iobound.lab.commands import CommandTarget
from iobound.lab.laboratory import Laboratory
from iobound.lab.lock import MachineLock
from iobound.lab.targets import PLACE
from iobound.load.spec import Exchange
from iobound.measure.agreement import Start, agreed
from iobound.measure.session import Targets
from iobound.planning import Question, as_plan, estimate_s
from iobound.records import Plan, Workload
from iobound.walks import walk, walk_of_commands
from iobound.workloads import parse

EXAMPLE = f"for example: iobound explain --path / --factor WORKERS=1,4 -- ./serve {PLACE}"
STEP_S, QUICK_STEP_S = 40.0, 15.0  # of the budget, for each comparison
Factors = Mapping[str, tuple[str, str]]


@click.command(short_help="Take a ratio apart, one factor at a time.")
@click.argument("what", nargs=-1, type=click.UNPROCESSED, metavar="TARGET_A TARGET_B | -- CMD_A [-- CMD_B]")
@click.option("--workload", metavar="WORKLOAD", help="What the targets are asked (default: plain).")
@click.option("--path", "paths", multiple=True, metavar="PATH", help="Request this path of commands (repeatable).")
@click.option(
    "--factor", "factors", multiple=True, metavar="NAME=A,B", help="A variable of the commands, from A to B (repeatable)."
)
@click.option("--concurrency", type=click.IntRange(1, 10_000), default=10, show_default=True, help="Connections.")
@click.option("--quick", is_flag=True, help="One order of the factors only, three launches, short blocks.")
@click.option("--budget", type=options.Duration(), help="Stop after about this long (default: by the number of steps).")
@click.option("--precision", type=click.FloatRange(0.001, 1), default=0.05, show_default=True, help="Half-width to stop at.")
@click.option("--target-cores", type=click.IntRange(min=1), default=1, show_default=True, help="Cores of the target.")
@click.option("--dry-run", is_flag=True, help="Print the steps; measure nothing.")
@click.option("--out", type=click.Path(path_type=Path), help="Run folder (default: ./iobound-runs/TIME).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@options.instead_of_private
def command(
    what: tuple[str, ...],
    workload: str | None,
    paths: tuple[str, ...],
    factors: tuple[str, ...],
    concurrency: int,
    quick: bool,
    budget: float | None,
    precision: float,
    target_cores: int,
    dry_run: bool,
    out: Path | None,
    as_json: bool,
    **urls: str | None,
) -> int:
    """Walk from one target to another, changing one factor at a time, and say what each is worth.

    Of commands of your own, a factor is an environment variable that they heed.

    \b
    Examples: iobound explain flask-as-published starlette-as-published --workload plain
              iobound explain --path /users --factor WORKERS=1,4 --factor POOL=5,20 -- ./serve {port}
    """
    folder = out or runs.default_folder()
    runs.check_new(folder)
    starts = commands_of(what, named(factors)) if any(PLACE in word for word in what) else None
    if starts is None and (factors or paths):
        raise UsageError(f"--factor and --path are for commands, which have {PLACE} where their port goes; {EXAMPLE}")
    if starts is None and len(what) != 2:
        raise UsageError(f"name two targets, or a command of yours; {EXAMPLE}")
    if wrong := [path for path in paths if not path.startswith("/")]:
        raise UsageError(f"--path {wrong[0]}: a path begins with /")
    if starts and (workload or options.given_urls(urls)):
        raise UsageError("--workload and servers are for targets; a command is asked each --path, and knows its own servers")

    def planned(tried: bool) -> tuple[Plan, Targets]:
        if starts is None:
            question = walk(catalogue.own(), (what[0], what[1]), parse(workload or "plain"), concurrency, both_ways=not quick)
            return plan_of(question, quick, budget, precision), catalogue.find
        asked = [Exchange(path=path) for path in paths or ("/",)]
        question, targets = of_commands(starts, asked, concurrency, both_ways=not quick, tried=tried)
        return replace(plan_of(question, quick, budget, precision), experiments=[stages.COMMANDS]), targets

    if dry_run:
        show(planned(False)[0], as_json)
        return 0
    with MachineLock(), Laboratory(target_cores=target_cores, urls=options.given_urls(urls)) as laboratory, Bar() as progress:
        progress("starting", 0)
        plan, targets = planned(True)
        run = stages.measure(folder, plan, laboratory, targets, progress)
    judgement = stages.report(run)
    stages.show(run, judgement, as_json)
    return stages.exit_code(judgement)


def named(factors: Sequence[str]) -> Factors:
    """Take ``NAME=A,B`` apart, the two values by the name; raises `UsageError`."""
    found: dict[str, tuple[str, str]] = {}
    for text in factors:
        match = re.fullmatch(r"([A-Za-z_]\w*)=([^,]*),([^,]*)", text)
        if not match or match[2] == match[3]:
            raise UsageError(f"--factor {text}: write an environment variable with two different values, NAME=A,B")
        if match[1] == "PORT":
            raise UsageError(f"--factor {text}: the port is chosen anew for each start; name another variable")
        if match[1] in found:
            raise UsageError(f"--factor {text}: {match[1]} has its two values already; a factor goes from one to the other")
        found[match[1]] = (match[2], match[3])
    return found


def commands_of(what: Sequence[str], factors: Factors) -> tuple[Start, Start]:
    """Return how the two ends are started: one command with both values of each factor, or two commands."""
    commands = [tuple(words) for last, words in itertools.groupby(what, "--".__eq__) if not last]
    if len(commands) > 2:
        raise UsageError("more than two commands; put one that has -- in it into a script")
    for words in commands:
        if not any(PLACE in word for word in words):
            raise UsageError(f"command `{' '.join(words)}`: it isn't told its port; write {PLACE} where the port goes")
    first, last = commands[0], commands[-1]
    if first == last and not factors:
        raise UsageError("one command without a --factor leaves nothing to change; declare one, or give a second command")
    before, after = ({name: levels[end] for name, levels in factors.items()} for end in (0, 1))
    return Start(first, before), Start(last, after)


def of_commands(
    starts: tuple[Start, Start], asked: Sequence[Exchange], concurrency: int, *, both_ways: bool, tried: bool
) -> tuple[Question, Targets]:
    """Return the walk between two commands and its targets; both are asked first, if they are to be `tried`."""
    first, last = starts
    exchanges = agreed(first, last, asked) if tried else asked
    names = ["A", "B"] if first.argv != last.argv else ["A", "A"]
    targets = {name: CommandTarget(name, start.argv, exchanges) for name, start in zip(names, starts, strict=True)}
    factors = {name: (before, last.settings[name]) for name, before in first.settings.items()}
    workload = Workload(name=" ".join(exchange.path for exchange in asked))
    ends = targets[names[0]], targets[names[1]]
    notes = [f"{name}: {' '.join(target.argv)}" for name, target in targets.items()]
    return walk_of_commands(*ends, factors, workload, concurrency, both_ways=both_ways, notes=notes), targets.__getitem__


def plan_of(question: Question, quick: bool, budget: float | None, precision: float) -> Plan:
    """Return the plan of a walk."""
    default_s = len(question.comparisons) * (QUICK_STEP_S if quick else STEP_S)
    return as_plan(["explain"], question, quick=quick, budget_s=budget or default_s, precision=precision)


def show(plan: Plan, as_json: bool) -> None:
    """Print the steps of a walk and how long it takes."""
    if as_json:
        click.echo(msgspec.json.encode({"plan": plan, "seconds": {"at_least": estimate_s(plan), "budget": plan.budget_s}}))
        return
    (walked,) = plan.walks
    for way, steps in {"forwards": walked.forwards, "the other way round": walked.backwards}.items():
        for number, step in enumerate(steps):
            click.echo(("" if number else f"{way}:\n") + f"    {step.factor}: {step.before} to {step.after}")
    for note in walked.notes:
        click.echo(note)
    click.echo(f"{len(plan.comparisons)} comparisons, {plan.budget_s:.0f} s at most")
