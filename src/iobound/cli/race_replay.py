"""``iobound race replay``: one schedule of an earlier exploration again."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import click
import msgspec

from iobound import race
from iobound.cli.progress import Bar


@click.command(short_help="Carry out one schedule again.")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--database", metavar="NAME|URL", help="Another database than the file names.")
@click.option("--yes-database", metavar="NAME", help="The name of URL's database again, where that looks like production.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(file: Path, database: str | None, yes_database: str | None, as_json: bool) -> int:
    """Carry out the schedule in FILE, which `iobound race explore` wrote; exits with 1 where it goes wrong again.

    Example: iobound race replay redeem.replay.json
    """
    with contextlib.redirect_stdout(sys.stderr), Bar() as progress:
        progress("carrying out the schedule", 0)
        report = race.replay(file, database=database, yes_database=yes_database)
    if as_json:
        click.echo(msgspec.json.encode({"verdict": report.verdict, "anomaly": report.anomaly, "levels": report.levels}))
    else:
        click.echo(str(report))
    return int(report.verdict == "violated")
