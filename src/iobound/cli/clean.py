"""``iobound clean``: remove what killed runs left behind."""

from __future__ import annotations

import json

import click

from iobound.cli import options
from iobound.lab import scratch, service


@click.command(short_help="Remove what killed runs left behind.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@options.service_urls("Also clean this {} server.")
def command(as_json: bool, **urls: str | None) -> None:
    """Remove what killed runs left behind: temporary folders here, and databases on the servers given by URL.

    Only what carries iobound's mark is touched, and nothing that a running iobound uses. Finding nothing is no error.

    Example: iobound clean --postgres postgresql://me@127.0.0.1/postgres
    """
    removed, in_use = scratch.sweep()
    found = {"here": service.Leftovers(dropped=[str(path) for path in removed], in_use=[str(path) for path in in_use])}
    for name, url in options.given_urls(urls).items():
        found[name] = service.find(name).clean(url)
    if as_json:
        where = {place: {"dropped": it.dropped, "in_use": it.in_use} for place, it in found.items()}
        click.echo(json.dumps(where))
        return
    for place, leftovers in found.items():
        for name in leftovers.dropped:
            click.echo(f"{place}: removed {name}")
        for name in leftovers.in_use:
            click.echo(f"{place}: left {name}, which a running iobound uses")
        if not leftovers.dropped and not leftovers.in_use:
            click.echo(f"{place}: nothing left behind")
