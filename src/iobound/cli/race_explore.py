"""``iobound race explore``: every interleaving of a function's sessions, on the real database."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

import click
import msgspec

from iobound import race
from iobound.cli.progress import Bar
from iobound.errors import NoVerdict, UsageError
from iobound.race import cases, explorer, exports, replaying
from iobound.records.race import Model
from iobound.report import race as page

EXIT_CODES = {"holds": 0, "violated": 1, "incomplete": NoVerdict.exit_code, "unsupported": NoVerdict.exit_code}


class Export(click.ParamType[tuple[str, Path]]):
    """A format and the file to write it to."""

    name = "export"

    def convert(
        self, value: str | tuple[str, Path], param: click.Parameter | None, context: click.Context | None
    ) -> tuple[str, Path]:
        """Return both; a format that isn't there is refused before anything is explored."""
        if isinstance(value, tuple):
            return value
        name, _, file = value.partition("=")
        if name not in exports.known() or not file:
            self.fail(f"{value!r} is no FORMAT=FILE; formats: {', '.join(exports.known())}", param, context)
        return name, Path(file)


@click.command(short_help="Explore a function.")
@click.argument("function", metavar="FILE:NAME")
@click.option("--database", metavar="NAME|URL", help="postgresql (default), mariadb or sqlite, started for this; or a URL.")
@click.option("--yes-database", metavar="NAME", help="The name of URL's database again, where that looks like production.")
@click.option("--isolation", multiple=True, metavar="LEVEL", help="Explore at this default level; may be given several times.")
@click.option("--model", type=click.Choice(get_args(Model)), help="How the sessions run; threads unless the function says.")
@click.option(
    "--max-schedules", type=click.IntRange(1), default=explorer.MAX_SCHEDULES, show_default=True,
    help="Carry out up to so many exhaustively; beyond that, leave out those that can't differ.",
)  # fmt: skip
@click.option(
    "--replay", "file", type=click.Path(path_type=Path, dir_okay=False), help="Where to write the schedule that fails."
)
@click.option(
    "--export", "wanted", multiple=True, type=Export(), metavar="FORMAT=FILE",
    help=f"Also write it as {', '.join(exports.known())}; may be given several times.",
)  # fmt: skip
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), help="Also write the report as one HTML file.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    function: str,
    database: str | None,
    yes_database: str | None,
    isolation: tuple[str, ...],
    model: Model | None,
    max_schedules: int,
    file: Path | None,
    wanted: tuple[tuple[str, Path], ...],
    html: Path | None,
    as_json: bool,
) -> int:
    """Run the sessions of FILE:NAME in every interleaving of their statements and say whether the invariant always holds.

    What is explored stands above the function: @race.case(sessions=…, setup=…, invariant=…). The function finds the
    database in the environment variable DATABASE_URL. Exits with 1 where a schedule breaks the invariant.

    Example: iobound race explore examples/voucher.py:redeem
    """
    with contextlib.redirect_stdout(sys.stderr), Bar() as progress:
        case = cases.load(function)
        case = replace(
            case,
            database=database or case.database,
            isolation=list(isolation) or case.isolation,
            model=model or case.model,
        )
        report = explorer.explore_case(
            case,
            max_schedules=max_schedules,
            yes_database=yes_database,
            progress=progress,
        )
    export(report, wanted)
    if html:
        html.write_text(page.render(report.record))
    show(report, file or Path(f"{function.rpartition(':')[2]}.replay.json"), as_json)
    return EXIT_CODES[report.verdict]


def export(report: race.Report, wanted: Sequence[tuple[str, Path]]) -> None:
    """Write the files asked for; a format with no place for this report is said and left out."""
    for name, file in wanted:
        try:
            text = exports.render(name, report.record)
        except UsageError as error:
            click.echo(f"iobound: --export {name}={file}: {error}", err=True)
        else:
            file.write_text(text)


def show(report: race.Report, file: Path, as_json: bool) -> None:
    """Print a report on standard output; write the replay file where something is violated."""
    replay = report.replay()
    if replay:
        replaying.write(replay, file)
    if as_json:
        click.echo(
            msgspec.json.encode(
                {
                    "verdict": report.verdict,
                    "schedules": report.schedules,
                    "violations": report.violations,
                    "anomaly": report.anomaly,
                    "replay": str(file) if replay else None,
                    "subject": report.record.subject,
                    "levels": report.levels,
                }
            )
        )
        return
    click.echo(str(report))
    if replay:
        click.echo(f"\nCarry it out again: iobound race replay {file}")
