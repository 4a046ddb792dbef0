"""``iobound list``: what there is to measure, and what of it this machine has."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from iobound import experiments, workloads
from iobound.lab import catalogue, service
from iobound.lab.parts import Framework, Part, Published, Server, Store
from iobound.load import engine

NEEDS = {"nothing": "needs no service", "sql": "on a database", "sleeping-sql": "on a database server", "cache": "on a cache"}


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One thing. `unavailable` says why this machine doesn't have it, and what installs it."""

    name: str
    title: str
    unavailable: str | None = None


@click.command(short_help="List what there is to measure.")
@click.option("--targets", "only_targets", is_flag=True, help="Print the names of all targets, one a line.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(only_targets: bool, as_json: bool) -> None:
    """List parts of targets, published programs, workloads, services, load engines and experiments.

    A target is FRAMEWORK/SERVER, FRAMEWORK/SERVER/STORE or a published program.

    Example: iobound list --targets
    """
    found = {"targets": catalogue.names()} if only_targets else everything()
    if as_json:
        click.echo(msgspec.json.encode(found))
    elif only_targets:
        click.echo("\n".join(catalogue.names()))
    else:
        show(everything())


def everything() -> dict[str, list[Entry]]:
    """Return all there is, by kind."""
    own = catalogue.own()
    questions = [module.name for module in pkgutil.iter_modules(experiments.__path__)]
    return {
        "frameworks": entries(own.frameworks),
        "servers": entries(own.servers),
        "stores": entries({name: part for name, part in own.stores.items() if part.description.service in service.known()}),
        "published": entries(own.published),
        "workloads": [Entry(name=name, title=NEEDS[workloads.need(workloads.parse(name))]) for name in workloads.NAMES],
        "services": [
            Entry(name=name, title=service.find(name).kind, unavailable=service.find(name).unavailable())
            for name in service.known()
        ],
        "engines": [Entry(name=name, title="", unavailable=engine.available(name)) for name in engine.known()],
        "experiments": [Entry(name=name, title=import_module(f"{experiments.__name__}.{name}").TITLE) for name in questions],
    }


def entries(parts: Mapping[str, Part[Any]]) -> list[Entry]:
    """Return what parts say of themselves."""
    return [Entry(name=name, title=f"{part.description.title} ({combines(part.description)})") for name, part in parts.items()]


def combines(description: Framework | Server | Store | Published) -> str:
    """Say what a part is combined by, or what a published program needs."""
    match description:
        case Framework():
            return f"{description.interface}, {description.calls} stores"
        case Server():
            return f"{description.model}, serves {' and '.join(description.accepts)}"
        case Store():
            return f"{description.calls}, on {description.service}"
        case Published():
            return f"{description.model}, on {' or '.join(description.services)}" if description.services else description.model


def show(found: dict[str, list[Entry]]) -> None:
    """Print a table for each kind; what isn't available is followed by the reason."""
    table = Table(box=None, show_header=False, pad_edge=False)
    for kind, things in found.items():
        table.add_row(f"[bold]{kind}")
        for thing in things:
            table.add_row(f"  {thing.name}", escape(thing.title))
            if thing.unavailable:
                table.add_row("", f"[yellow]not here: {escape(thing.unavailable)}")
        table.add_row()
    Console().print(table)
