"""``iobound race fix``: the smallest changes with which a function holds, and what they cost."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import replace

import click
import msgspec
from rich.console import Console
from rich.table import Table

from iobound.cli.progress import Bar
from iobound.race import cases, explorer, fix, terminal
from iobound.records.race import Fix, Fixes

VERDICTS = {"holds": "[green]holds[/]", "violated": "[red]violated[/]"}


@click.command(short_help="Try the smallest changes that make a function hold.")
@click.argument("function", metavar="FILE:NAME")
@click.option("--database", metavar="NAME|URL", help="postgresql (default), mariadb or sqlite, started for this; or a URL.")
@click.option("--yes-database", metavar="NAME", help="The name of URL's database again, where that looks like production.")
@click.option("--isolation", metavar="LEVEL", help="Fix it at this default level.")
@click.option(
    "--max-schedules",
    type=click.IntRange(1),
    default=explorer.MAX_SCHEDULES,
    show_default=True,
    help="Carry out up to so many exhaustively; beyond that, leave out those that can't differ.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    function: str,
    database: str | None,
    yes_database: str | None,
    isolation: str | None,
    max_schedules: int,
    as_json: bool,
) -> int:
    """Run FILE:NAME unchanged, its statements rewritten on their way: rows locked by the reads, the isolation raised.

    Says which change holds in every schedule, and what it costs while the sessions run at once. What needs other Python
    code is only suggested. Exits with 1 where no change holds.

    Example: iobound race fix examples/voucher.py:redeem
    """
    with contextlib.redirect_stdout(sys.stderr), Bar() as progress:
        case = cases.load(function)
        case = replace(
            case,
            database=database or case.database,
            isolation=[isolation] if isolation else case.isolation,
        )
        found = fix.find(case, max_schedules=max_schedules, yes_database=yes_database, progress=progress)
    if as_json:
        click.echo(msgspec.json.encode(found))
    else:
        show(found)
    return int(found.before.verdict != "holds" and not any(each.verdict == "holds" for each in found.fixes))


def show(found: Fixes) -> None:
    """Print the unchanged code's verdict, the changes and the suggestions."""
    console = Console()
    console.print(f"{found.subject.function} at {found.isolation or 'the default level'}: {terminal.verdict(found.before)}")
    if not found.before.violations:
        console.print("there is nothing to fix")
        return
    table = Table("change", "", "schedules", "throughput", "retries a call", box=None, pad_edge=False)
    for each in found.fixes:
        table.add_row(each.change, *_cells(each))
    console.print("", table, "", sep="\n")
    if any(each.throughput for each in found.fixes):
        console.print("[dim]throughput: calls a second over those of the unchanged code, both carried out by iobound\n")
    for each in found.fixes:
        if each.refused:
            console.print(f"refused: {each.change}: {each.refused}", highlight=False)
    for suggestion in found.suggestions:
        console.print(f"other code: {suggestion}", highlight=False)


def _cells(each: Fix) -> tuple[str, str, str, str]:
    if each.verdict is None:
        return "[yellow]refused[/]", "", "", ""
    ratio = each.throughput
    width = f" [{ratio.low:.2f}, {ratio.high:.2f}]" if ratio and ratio.low is not None and ratio.high is not None else ""
    return (
        VERDICTS.get(each.verdict, each.verdict),
        f"{each.schedules - each.violations}/{each.schedules}",
        f"{ratio.estimate:.2f}x{width}".replace("[", r"\[") if ratio else "",
        f"{each.retries:.2f}" if each.retries is not None else "",
    )
