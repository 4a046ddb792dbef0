"""``iobound verify``: do the targets answer as they must, whatever their speed?"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import click
import msgspec
from rich.console import Console
from rich.table import Table

from iobound.cli import options
from iobound.cli.progress import Bar
from iobound.errors import LabError
from iobound.lab import catalogue, environments
from iobound.lab.catalogue import Target
from iobound.lab.laboratory import Laboratory
from iobound.measure.conformance import AS_EXPECTED, Ground, Verdict, conform, cover

COLOURS = {"verified": "green", "failed": "red", "unavailable": "yellow"}


@click.command(short_help="Check the answers of targets, untimed.")
@click.argument("names", metavar="[TARGET]...", nargs=-1)
@click.option("--all", "all_targets", is_flag=True, help="Every target, not only a cover.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@options.instead_of_private
def command(names: tuple[str, ...], all_targets: bool, as_json: bool, **urls: str | None) -> int:
    """Start TARGETs and check every answer, untimed.

    By default every framework on every server and every service, every store with every concurrency model, and what was
    published.

    Exits with 1 where one answers wrongly, with 3 where none could be checked.

    Example: iobound verify flask/gunicorn-gthread/psycopg
    """
    if names:
        chosen = [catalogue.find(name) for name in names]
    else:
        chosen = list(catalogue.own().targets()) if all_targets else cover(catalogue.own().targets())
    with Laboratory(urls=options.given_urls(urls)) as laboratory, Bar() as progress:
        verdicts = []
        for verdict in check(chosen, laboratory, progress):
            verdicts.append(verdict)
            progress(verdict.target, len(verdicts) / len(chosen))
    if as_json:
        click.echo(msgspec.json.encode({"targets": verdicts}))
    else:
        show(verdicts)
    statuses = {verdict.status for verdict in verdicts}
    return 1 if "failed" in statuses else 0 if "verified" in statuses else LabError.exit_code


def check(chosen: list[Target], laboratory: Laboratory, progress: Bar) -> Iterator[Verdict]:
    """Yield the verdict on each target in turn; several are launched at a time."""
    missing = prepare(chosen, laboratory, progress)
    grounds = {name: Ground(service) for name, service in laboratory.services.items()}
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        running = {
            target.name: pool.submit(conform, target, grounds[target.service] if target.service else None)
            for target in chosen
            if target.name not in missing
        }
        try:
            for target in chosen:
                if target.name in missing:
                    yield Verdict(target.name, "unavailable", missing[target.name], {})
                else:
                    yield running[target.name].result()
        finally:
            pool.shutdown(cancel_futures=True)


def prepare(chosen: list[Target], laboratory: Laboratory, progress: Bar) -> dict[str, str]:
    """Start the services and build the environments of targets; return, by target, what can't be had."""
    lacking: dict[str, str] = {}
    for name in sorted({target.service for target in chosen if target.service}):
        progress(f"starting {name}", 0)
        try:
            laboratory.service(name)
        except LabError as error:
            lacking[name] = str(error)
    for name in sorted({target.environment for target in chosen}):
        progress(f"building the environment {name!r}", 0)
        try:
            environments.environment(name)
        except LabError as error:
            lacking[name] = str(error)
    reasons = {
        target.name: target.unavailable() or lacking.get(target.environment) or lacking.get(target.service or "")
        for target in chosen
    }
    return {name: reason for name, reason in reasons.items() if reason}


def show(verdicts: list[Verdict]) -> None:
    """Print a table of the verdicts with the number of workloads that were right, then what was wrong."""
    table = Table("target", "status", "workloads", box=None, pad_edge=False)
    for verdict in verdicts:
        right = sum(outcome == "verified" for outcome in verdict.workloads.values())
        count = f"{right} of {len(verdict.workloads)}" if verdict.workloads else ""
        table.add_row(verdict.target, f"[{COLOURS[verdict.status]}]{verdict.status}", count)
    Console().print(table)
    reasons: dict[str, list[str]] = {}
    for verdict in verdicts:
        expected = [f"{name} {outcome}" for name, outcome in verdict.workloads.items() if outcome.startswith(AS_EXPECTED)]
        for reason in [*([verdict.reason] if verdict.reason else []), *expected]:
            reasons.setdefault(reason, []).append(verdict.target)
    for reason, (first, *others) in reasons.items():
        click.echo(f"\n{first}{f' and {len(others)} more' if others else ''}: {reason}")
    counts = Counter(verdict.status for verdict in verdicts)
    click.echo("\n" + ", ".join(f"{count} {status}" for status, count in counts.items()))
