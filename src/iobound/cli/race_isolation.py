"""``iobound race isolation``: which anomalies a server admits at each isolation level."""

from __future__ import annotations

import click
import msgspec
from rich.console import Console
from rich.table import Table

from iobound.errors import BadAnswer
from iobound.race import isolation
from iobound.race.anomalies import ANOMALIES
from iobound.race.isolation import Matrix

WORDS = {"prevented": "[green]no[/]", "observed": "[red]yes[/]"}


@click.command(short_help="Measure which anomalies a server admits.")
@click.option(
    "--database",
    default="postgresql",
    show_default=True,
    metavar="NAME|URL",
    help="postgresql, mariadb or sqlite, started for this; or a server's URL: only a database of our own is touched there.",
)
@click.option("--check", is_flag=True, help="Exit with 1 where it differs from what is known of this server.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(database: str, check: bool, as_json: bool) -> None:
    """Measure which anomalies a server admits at each isolation level, and compare with what is known of its version.

    Example: iobound race isolation --database postgresql --check
    """
    matrix = isolation.measure(database, lambda level: click.echo(f"measuring {level} …", err=True))
    if as_json:
        click.echo(msgspec.json.encode(matrix))
    else:
        show(matrix)
    if check and matrix.differences:
        raise BadAnswer(f"{matrix.server} {matrix.version} {judged(matrix)}")


def show(matrix: Matrix) -> None:
    """Print anomalies by level, then what differs."""
    console = Console()
    console.print(f"[bold]{matrix.server} {matrix.version}[/]: does it admit …? A number: no, it refuses with this error.\n")
    for number, level in enumerate(matrix.levels, 1):
        console.print(f"  {number}  {level}", highlight=False)
    table = Table("", "", *map(str, range(1, len(matrix.levels) + 1)), box=None, pad_edge=False)
    for anomaly in ANOMALIES:
        results = (of_level[anomaly.name] for of_level in matrix.levels.values())
        table.add_row(anomaly.name, anomaly.title, *(WORDS.get(result, result) for result in results))
    console.print("", table, "", judged(matrix), sep="\n")


def judged(matrix: Matrix) -> str:
    """Say whether it is as known, and what isn't."""
    like = f"{matrix.compared_with}{', the nearest version of which there is data' if matrix.nearest else ''}"
    if not matrix.differences:
        return f"as known of {like}"
    found = (f"{one.anomaly} at {one.level} is {one.measured}, not {one.expected}" for one in matrix.differences)
    return f"differs from what is known of {like}: {'; '.join(found)}"
