"""Options that several commands share, and the values they are parsed into."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

import click

from iobound.lab import service
from iobound.workloads import parse

SERVICE_OPTIONS = {flag: name for name in service.known() if (flag := service.find(name).flag)}
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


NAMES = Listed(str, "names")
CONNECTIONS = Listed(_connections, "numbers")
WORKLOADS: Listed = Listed(parse, "workloads")


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
