"""Options that several commands share, and the values they are parsed into."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import click

from iobound.workloads import parse

SERVICE_OPTIONS = {"postgres": "postgresql", "mysql": "mariadb", "valkey": "valkey"}
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
        """Return the values; an empty one is refused."""
        if isinstance(value, tuple):
            return value
        try:
            return tuple(self.item(part.strip()) for part in str(value).split(","))
        except ValueError as error:
            self.fail(f"{value!r}: {error}", param, context)


def _connections(text: str) -> int:
    number = int(text) if text.isdigit() else 0
    if not 1 <= number <= 10_000:
        raise ValueError(f"{text!r} is no number of connections (1 to 10000)")
    return number


NAMES = Listed(str, "names")
CONNECTIONS = Listed(_connections, "numbers")
WORKLOADS: Listed = Listed(parse, "workloads")


def service_urls(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--postgres``, ``--mysql`` and ``--valkey``: servers to use instead of private ones."""
    for option, service in reversed(SERVICE_OPTIONS.items()):
        help_ = f"Use this {service} server instead of a private one; only a database of our own is touched."
        command = click.option(f"--{option}", metavar="URL", help=help_)(command)
    return command


def given_urls(options: dict[str, str | None]) -> dict[str, str]:
    """Return the URLs among `options` by the name of their service."""
    return {service: url for option, service in SERVICE_OPTIONS.items() if (url := options.get(option))}
