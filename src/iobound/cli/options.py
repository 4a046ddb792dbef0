"""Options that several commands share, and the values they are parsed into."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlsplit

import click

from iobound.lab import service
from iobound.records.bulk import BadLines, Feeding, Statements, Transaction
from iobound.workloads import parse

SERVICE_OPTIONS = {flag: name for name in service.known() if (flag := service.find(name).flag)}
LONGEST_RTT_MS = 10_000.0
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "": 1.0}


class Duration(click.ParamType[float]):
    """A duration such as ``500ms``, ``3s`` or ``2m``; seconds without a unit."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, context: click.Context | None) -> float:
        """Return seconds."""
        if isinstance(value, (int, float)):
            return float(value)
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(us|ms|s|m|h|)", str(value).strip())
        if not match or float(match[1]) == 0:
            self.fail(f"{value!r} is no duration; write for example 500ms, 3s or 2m", param, context)
        return float(match[1]) * UNITS[match[2]]


class Listed(click.ParamType[tuple[Any, ...]]):
    """Values separated by commas, each converted by `item`."""

    def __init__(self, item: Callable[[str], Any], name: str) -> None:
        self.item = item
        self.name = name

    def convert(self, value: object, param: click.Parameter | None, context: click.Context | None) -> tuple[Any, ...]:
        """Return the values; one that is empty or there twice is refused."""
        if isinstance(value, tuple):
            return value
        parts = [part.strip() for part in str(value).split(",")]
        try:
            items = tuple(map(self.item, parts)) if all(parts) else ()
        except ValueError as error:
            self.fail(f"{value!r}: {error}", param, context)
        if not items:
            self.fail(f"{value!r} has an empty item; write {self.name} separated by commas", param, context)
        twice = [part for number, part in enumerate(parts) if items[number] in items[:number]]
        if twice:
            self.fail(f"{value!r} has {twice[0]} twice; leave one out", param, context)
        return items


class Rate(click.ParamType[float]):
    """Requests a second: a number above 0 that isn't infinite."""

    name = "rate"

    def convert(self, value: object, param: click.Parameter | None, context: click.Context | None) -> float:
        """Return requests a second."""
        try:
            rate = float(str(value))
        except ValueError:
            rate = 0.0
        if not 0 < rate < math.inf:
            self.fail(f"{value!r} is no rate; write requests a second, for example 500", param, context)
        return rate


class ServiceUrl(click.ParamType[str]):
    """The URL of a server. Its password stays out of every message."""

    name = "url"

    def convert(self, value: object, param: click.Parameter | None, context: click.Context | None) -> str:
        """Return the URL as it is; one that can't be taken apart is refused."""
        url = str(value)
        try:
            parts = urlsplit(url)
            readable = "://" in url and parts.port != 0
        except ValueError:
            readable = False
        if not readable:
            self.fail("no URL; write SCHEME://USER:PASSWORD@HOST:PORT/NAME, special characters as %XX", param, context)
        return url


def without_passwords(arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a command as they may be written down: the passwords in URLs starred out."""
    return [re.sub(r"(://[^/:@]*):.*@", r"\1:***@", re.sub(r"(password=)[^&\s]+", r"\1***", one)) for one in arguments]


def _connections(text: str) -> int:
    number = int(text) if text.isdigit() else 0
    if not 1 <= number <= 10_000:
        raise ValueError(f"{text!r} is no number of connections (1 to 10000)")
    return number


def _rtt_ms(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(us|ms|s)", text)
    milliseconds = 0.0 if text == "0" else float(found[1]) * UNITS[found[2]] * 1e3 if found else -1.0
    if not 0 <= milliseconds <= LONGEST_RTT_MS:
        raise ValueError(f"{text!r} is no round-trip time; write 0 or for example 300us or 5ms, at most {LONGEST_RTT_MS:g}ms")
    return milliseconds


def _one_of(names: Sequence[str]) -> Callable[[str], str]:
    def checked(text: str) -> str:
        if text not in names:
            raise ValueError(f"{text!r} is none of {', '.join(names)}")
        return text

    return checked


NAMES = Listed(str, "names")
RTT: Listed = Listed(_rtt_ms, "round-trip times")
CONNECTIONS = Listed(_connections, "numbers")
WORKLOADS: Listed = Listed(parse, "workloads")


FACTORS = [
    click.option("--targets", type=NAMES, help="web, equal: compare these targets instead; the first is the baseline."),
    click.option("--workloads", type=WORKLOADS, help="web, equal, published: only these, e.g. plain,sql-list:1000,db-wait:20."),
    click.option("--concurrency", type=CONNECTIONS, help="web, equal: connections of the closed loops, e.g. 1,10,100."),
    click.option("--rate", type=Rate(), help="web, equal: requests a second of the open loop."),
    click.option(
        "--rtt", type=RTT, help="All but calls and published: round-trip times to services, e.g. 0,300us,1ms,5ms; 0 is none."
    ),
    click.option("--python", type=NAMES, help="drivers, bulk, calls: interpreters, e.g. 3.8,3.13,pypy3."),
    click.option("--drivers", type=NAMES, help="drivers: only these, or all; the first of a service is its baseline."),
    click.option("--models", type=NAMES, help="bulk: with drivers, e.g. threads/psycopg2; transfer: e.g. threads,asyncio."),
    click.option("--connections", type=CONNECTIONS, help="bulk, transfer: connections, one worker each, e.g. 10,100."),
    click.option("--lines", type=click.IntRange(min=1), help="bulk: lines of the data to load."),
    click.option("--data", type=click.Path(path_type=Path, exists=True), help="bulk: folder of the census's files."),
    click.option(
        "--bad-lines", type=click.Choice(get_args(BadLines)), help="bulk: refuse data with a bad line (default), or report it."
    ),
    click.option(
        "--transaction",
        type=Listed(_one_of(get_args(Transaction)), "names"),
        help="bulk: autocommit (default), or a transaction for each line of the data.",
    ),
    click.option(
        "--statements",
        type=Listed(_one_of(get_args(Statements)), "names"),
        help="bulk: how a line's values are inserted: single (default), executemany, pipeline, copy.",
    ),
    click.option(
        "--feeder",
        type=Listed(_one_of(get_args(Feeding)), "names"),
        help="bulk: preloaded (default up to 2,000 lines), streaming, or published (busy-waiting).",
    ),
    click.option("--primitives", type=NAMES, help="calls: only these primitives."),
    click.option("--strategies", type=NAMES, help="transfer: only these, e.g. autocommit,for-update-ordered."),
    click.option("--databases", type=NAMES, help="transfer: only these, e.g. postgresql,mariadb,sqlite."),
    click.option("--isolation", type=NAMES, help="transfer: levels, e.g. read-committed,repeatable-read,serializable."),
]
"""What may be asked of `run`: each option sets the field of the same name in `iobound.planning.Choice`."""


def factors(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of `FACTORS`."""
    for option in reversed(FACTORS):
        command = option(command)
    return command


def service_urls(help_: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add ``--postgres``, ``--mysql`` and so on, each with `help_` about the service in its braces."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option, name in reversed(SERVICE_OPTIONS.items()):
            command = click.option(f"--{option}", type=ServiceUrl(), metavar="URL", help=help_.format(name))(command)
        return command

    return add


instead_of_private = service_urls("Use this {} server instead of a private one; only a database of our own is touched.")


def given_urls(options: dict[str, str | None]) -> dict[str, str]:
    """Return the URLs among `options` by the name of their service."""
    return {name: url for option, name in SERVICE_OPTIONS.items() if (url := options.get(option))}
