"""``iobound tune``: the same search over workers, threads and pool for every target."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from iobound import runs, tuning
from iobound.cli import options, stages
from iobound.cli.progress import Bar
from iobound.lab import catalogue
from iobound.lab.laboratory import Laboratory
from iobound.lab.lock import MachineLock
from iobound.planning import Question, as_plan, estimate_s
from iobound.records import Plan
from iobound.workloads import parse

COMPARISON_S, QUICK_COMPARISON_S = 60.0, 20.0  # of the budget


@click.command(short_help="Tune targets equally, and compare their bests.")
@click.argument("names", metavar="TARGET...", nargs=-1, required=True)
@click.option("--workload", default="plain", show_default=True, metavar="WORKLOAD", help="What the targets are asked.")
@click.option("--concurrency", type=click.IntRange(1, 10_000), default=20, show_default=True, help="Connections.")
@click.option("--quick", is_flag=True, help="Three launches in short blocks.")
@click.option("--budget", type=options.Duration(), help="Stop after about this long (default: by what there is to try).")
@click.option("--precision", type=click.FloatRange(0.001, 1), default=0.05, show_default=True, help="Half-width to stop at.")
@click.option("--target-cores", type=click.IntRange(min=1), default=1, show_default=True, help="Cores of the target.")
@click.option("--dry-run", is_flag=True, help="Print what is tried; measure nothing.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder of the two runs (default: ./iobound-runs/TIME).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@options.instead_of_private
def command(
    names: tuple[str, ...],
    workload: str,
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
    """Give every TARGET the same search over its workers, threads and pool; show default, best and sensitivity of each.

    Example: iobound tune --workload sql-list flask/gunicorn-gthread/psycopg starlette/uvicorn-uvloop/asyncpg
    """
    folder = out or runs.default_folder()
    targets = [catalogue.find(name) for name in dict.fromkeys(names)]
    asked = parse(workload)
    question = tuning.search(targets, asked, concurrency, target_cores)
    share = budget / 2 if budget else None
    plan = plan_of(question, quick, share, precision)
    if dry_run:
        show(plan, as_json)
        return 0
    for name in ("search", tuning.BEST):
        runs.check_new(folder / name)
    with MachineLock(), Laboratory(target_cores=target_cores, urls=options.given_urls(urls)) as laboratory, Bar() as progress:
        progress("starting", 0)
        searched = stages.report(stages.measure(folder / "search", plan, laboratory, catalogue.find, progress))
        from iobound.analysis import tuned

        found = tuned.settings(plan, searched)
        best = {target.name: tuning.best(target.name, found) for target in targets}
        last = tuning.final(targets, best, asked, concurrency)
        judged = None
        if last.cells:
            final = plan_of(last, quick, share, precision)
            judged = stages.report(stages.measure(folder / tuning.BEST, final, laboratory, catalogue.find, progress))
    of = tuned.tuned(found, searched, best, judged)
    bests = [ratio for ratio in judged.ratios if ratio.comparison == tuning.bests_id(asked)] if judged else []
    if as_json:
        click.echo(msgspec.json.encode({"run": str(folder), "targets": of, "best_against_best": bests}))
    else:
        from iobound.report import terminal
        from iobound.report import tuning as report

        report.render(of, bests, terminal.console())
        click.echo(f"\nReports: {folder / 'search' / stages.REPORT} and {folder / tuning.BEST / stages.REPORT}")
    return stages.exit_code(searched) or (stages.exit_code(judged) if judged else 0)


def show(plan: Plan, as_json: bool) -> None:
    """Print what is tried and how long it takes, the bests against each other apart."""
    if as_json:
        click.echo(msgspec.json.encode({"plan": plan, "seconds": {"at_least": estimate_s(plan), "budget": plan.budget_s}}))
        return
    cells = {cell.id: cell for cell in plan.cells}
    for comparison in plan.comparisons:
        levels = [level for id_ in comparison.cells for level in cells[id_].settings.values()]
        click.echo(f"{comparison.question}: {', '.join(levels)}")
    click.echo(f"{plan.budget_s:.0f} s at most, then the bests")


def plan_of(question: Question, quick: bool, budget: float | None, precision: float) -> Plan:
    """Return the plan of one of the two runs."""
    default_s = len(question.comparisons) * (QUICK_COMPARISON_S if quick else COMPARISON_S)
    return as_plan([tuning.EXPERIMENT], question, quick=quick, budget_s=budget or default_s, precision=precision)
