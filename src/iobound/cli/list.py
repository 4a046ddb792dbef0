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
from rich.table import Column, Table

from iobound import experiments, workloads
from iobound.errors import UsageError
from iobound.lab import catalogue, drivers, loaders, primitives, service, transfers
from iobound.lab.parts import Framework, Loader, Model, Part, Published, Server, Store
from iobound.load import engine

NEEDS = {"nothing": "needs no service", "sql": "on a database", "sleeping-sql": "on a database server", "cache": "on a cache"}


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One thing. `unavailable` says why this machine doesn't have it, and what installs it."""

    name: str
    title: str
    unavailable: str | None = None


@click.command(short_help="List what there is to measure.")
@click.option("--targets", "only_targets", is_flag=True, help="Print the names of all targets, one a line.")
@click.option("--matrix", "as_matrix", is_flag=True, help="Show which frameworks, servers and stores combine.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(only_targets: bool, as_matrix: bool, as_json: bool) -> None:
    """List parts of targets, published programs, workloads, services, load engines, experiments, and what each of these takes:
    drivers, models that load in bulk, primitives, and strategies of a transfer.

    A target is FRAMEWORK/SERVER, FRAMEWORK/SERVER/STORE or a published program.

    Example: iobound list --targets
    """
    if only_targets and as_matrix:
        raise UsageError("--targets and --matrix are two lists; ask for one of them")
    if as_json:
        found = {"targets": catalogue.names()} if only_targets else matrix() if as_matrix else everything()
        click.echo(msgspec.json.encode(found))
    elif only_targets:
        click.echo("\n".join(catalogue.names()))
    elif as_matrix:
        show_matrix(matrix())
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
        "drivers": [
            Entry(name=name, title=f"{driver.title} ({driver.layer}, {driver.calls}, on {driver.service})")
            for name, driver in drivers.catalogue().items()
        ],
        "bulk_models": [Entry(name=name, title=driven(loader.description)) for name, loader in loaders.catalogue().items()],
        "primitives": [Entry(name=name, title=" or ".join(titles)) for name, titles in costs().items()],
        "transfer_strategies": [
            Entry(name=name, title=f"on {', '.join(transfers.databases(name))}") for name in transfers.STRATEGIES
        ],
    }


def costs() -> dict[str, list[str]]:
    """Return the primitives with the titles of their families: a query, for one, is one both where it blocks and where not."""
    found: dict[str, list[str]] = {}
    for name, family in primitives.families().items():
        for primitive in primitives.names(name):
            found.setdefault(primitive, []).append(family.description.title)
    return found


def driven(loader: Loader) -> str:
    """Say which drivers a model that loads in bulk drives."""
    return f"by {', '.join(name for name, driver in drivers.catalogue().items() if loaders.drives(loader, driver))}"


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


class StoreEntry(msgspec.Struct, frozen=True):
    """A store, with the `calls` that a framework must make; `refuses` says with which models it doesn't work, and why."""

    service: str
    calls: str
    models: list[str]
    refuses: dict[Model, str]


class Combinations(msgspec.Struct, frozen=True):
    """What combines: the model that each framework runs in on each server, and the models that each store works in."""

    frameworks: dict[str, dict[str, str]]
    stores: dict[str, StoreEntry]


def matrix() -> Combinations:
    """Return which parts combine."""
    frameworks: dict[str, dict[str, str]] = {}
    models: dict[str, set[str]] = {}
    for target in catalogue.own().targets():
        if target.kind == "composed":
            framework, server, store = target.parts
            frameworks.setdefault(framework.name, {})[server.name] = target.model
            models.setdefault(store.name, set()).add(target.model)
    return Combinations(
        frameworks,
        {
            name: StoreEntry(part.description.service, part.description.calls, sorted(models[name]), part.description.refuses)
            for name, part in catalogue.own().stores.items()
            if part.description.service in service.known()
        },
    )


def show_matrix(combinations: Combinations) -> None:
    """Print a table of frameworks and servers for each kind of interface, then the stores with their models."""
    console = Console()
    groups: dict[tuple[str, ...], list[str]] = {}
    for framework, servers in combinations.frameworks.items():
        groups.setdefault(tuple(servers), []).append(framework)
    for names, frameworks in groups.items():
        headings = [Column(name.replace("-", "-\n"), overflow="fold") for name in names]
        table = Table(Column("", no_wrap=True), *headings, box=None, pad_edge=False)
        for framework in frameworks:
            table.add_row(framework, *combinations.frameworks[framework].values())
        console.print(table, "")
    table = Table(Column("store", no_wrap=True), "service", "calls", "models", box=None, pad_edge=False)
    for name, store in combinations.stores.items():
        table.add_row(name, store.service, store.calls, ", ".join(store.models))
        for model, why in store.refuses.items():
            table.add_row("", "", "", f"[yellow]not {model}: {escape(why)}")
    console.print(table)


def show(found: dict[str, list[Entry]]) -> None:
    """Print a table for each kind; what isn't available is followed by the reason."""
    console = Console()
    for kind, things in found.items():
        table = Table(box=None, show_header=False, pad_edge=False)
        for thing in things:
            table.add_row(f"  {thing.name}", escape(thing.title))
            if thing.unavailable:
                table.add_row("", f"[yellow]not here: {escape(thing.unavailable)}")
        console.print(f"[bold]{kind.replace('_', ' ')}", table, "", sep="\n")
