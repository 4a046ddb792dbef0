"""``iobound report``: judge a run again and render it; nothing is measured."""

from __future__ import annotations

import io
from importlib import import_module
from pathlib import Path

import click

from iobound import runs
from iobound.cli.stages import REPORT, exit_code
from iobound.errors import LabError
from iobound.records import Judgement
from iobound.report import terminal

MODULES = {"html": "html", "md": "markdown", "json": "json", "csv": "csv"}


@click.command(short_help="Judge a run again and render it.")
@click.argument("folder", metavar="[RUN]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--format", "format_", type=click.Choice(["terminal", *MODULES]), help="Only this one (default: html, and terminal)."
)
@click.option("--json", "format_", flag_value="json", help="The same as --format json.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="File to write (default: html to RUN/report.html, others to stdout)."
)
def command(folder: Path | None, format_: str | None, out: Path | None) -> int:
    """Judge RUN (default: the latest under ./iobound-runs) again and render it.

    Example: iobound report --format md
    """
    from iobound.analysis.judging import judge  # scipy: half a second that --help needn't wait

    run = runs.read(folder or runs.latest())
    if run.cut_off:
        click.echo(f"iobound: the last line of {run.folder / runs.TRIALS} is incomplete and was left out", err=True)
    judgement = judge(run.header, run.observations)
    file = out or (run.folder / REPORT if format_ in (None, "html") else None)
    if file:
        write(file, render(format_ or "html", run, judgement))
    elif format_ != "terminal":
        click.echo(render(format_ or "html", run, judgement).rstrip("\n"))
    if format_ is None or (format_ == "terminal" and not file):
        terminal.render(run.header, judgement, terminal.console())
    if file:
        click.echo(f"\nReport: {file}", err=format_ is not None)
    return exit_code(judgement)


def render(format_: str, run: runs.Run, judgement: Judgement) -> str:
    """Render a judged run as text."""
    if format_ == "terminal":
        text = io.StringIO()
        terminal.render(run.header, judgement, terminal.console(text))
        return text.getvalue()
    rendered: str = import_module(f"iobound.report.{MODULES[format_]}").render(run.header, judgement, run.folder)
    return rendered


def write(file: Path, text: str) -> None:
    """Write `text`; raises `LabError` where that isn't possible."""
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise LabError(f"{file} can't be written ({error.strerror}); name another file with --out") from error
