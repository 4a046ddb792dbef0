"""The database drivers, and layers on them, that script experiments reach a service with: found by their files.

What the files say of themselves is described in `iobound.lab.parts`. They run in the environment `ENVIRONMENT`, on each of
its interpreters, and keep to one of two interfaces.

One that offers ``sql`` has ``PLACEHOLDER`` (``%s``, ``%b``, ``?``, or ``$1`` where they are numbered), ``connect(url,
autocommit=True)`` and ``ran(connection)``, labels of what runs. A connection has ``execute(sql, parameters=())``, which returns
the rows, none where a statement has none; ``executemany(sql, rows)`` in the way of its library; ``begin()``, ``commit()``,
``rollback()``, ``close()``; ``fileno()`` of its socket, ``None`` where it tells none; and where its library can,
``copy(table, columns, rows)`` and ``pipeline(statements)`` of pairs of a statement and its parameters. Statements between
`begin` and `commit` are one transaction, each other one is its own. Without `autocommit` the library begins transactions by
itself; one that can't refuses that by a `ValueError`.

One that offers ``things`` has ``connect(url)``, which returns the tables of `targets/statements/phases.py` as objects:
``insert(x, y, z)``, ``select()``, ``point(x)``, ``wide()``, ``begin()``, ``rollback()``, ``close()`` and ``fileno()``; and
``ran(things)``. In asynchronous ones all functions but ``ran`` and ``fileno`` are coroutines.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from msgspec.structs import asdict

import iobound
from iobound.errors import Unavailable, UsageError, nearest
from iobound.lab import interpreters, parts
from iobound.lab.environments import LOCKS
from iobound.lab.parts import Calls, Model, Part

FOLDER = Path(iobound.__file__).parent / "targets" / "drivers"
ENVIRONMENT = "drivers"
PYPY = "drivers-pypy"  # the environment of those that are Python throughout, on PyPy


@dataclass(frozen=True)
class Driver:
    """A driver, or a layer on the driver that is `beneath` it."""

    part: Part[parts.Driver]
    title: str
    service: str
    calls: Calls
    models: Sequence[Model]
    offers: Literal["sql", "things"]
    layer: Literal["driver", "core", "orm"]
    beneath: str | None

    @property
    def name(self) -> str:
        """What it is called, after its file."""
        return self.part.name

    @property
    def path(self) -> Path:
        """Its file."""
        return self.part.path

    @property
    def requires_python(self) -> str:
        """The versions that it runs on, like ``>=3.8``."""
        return self.part.requires_python

    def unavailable(self, python: str | None = None) -> str | None:
        """Say why it can't run on the interpreter `python`, by default iobound's own; ``None`` where it can."""
        if python is not None and (missing := interpreters.missing(python)):
            return missing
        found = interpreters.find(python) if python is not None else interpreters.own()
        if found.implementation != "cpython":
            return f"{self.name} has no lock for {found.implementation}; name a version of CPython"
        if not self.part.runs_on(found.release):
            return (
                f"{self.name} needs Python {self.requires_python}; {python or 'the one that runs iobound'} is {found.version}"
            )
        return None


@cache
def catalogue() -> dict[str, Driver]:
    """Return all drivers by their names."""
    found = (parts.read(path, parts.Driver) for path in sorted(FOLDER.glob("*.py")))
    return {part.name: Driver(part, **asdict(part.description)) for part in found}


def names() -> list[str]:
    """Return the names of all drivers."""
    return list(catalogue())


def find(name: str) -> Driver:
    """Return the driver called `name`; raises `UsageError` with the nearest names where there is none."""
    if name not in catalogue():
        raise UsageError(nearest(name, names(), "driver"))
    return catalogue()[name]


def environment_of(driver: Driver, python: str | None, beside: Sequence[str] = ()) -> str:
    """Return the environment that has `driver`, and the distributions that are required `beside` it, on the interpreter
    `python`; raises `Unavailable` where none has.
    """
    on_pypy = python and not interpreters.missing(python) and interpreters.find(python).implementation == "pypy"
    locked = _distributions((LOCKS / f"{PYPY}.txt").read_text().splitlines()) if on_pypy else set()
    if on_pypy and _distributions(driver.part.dependencies) <= locked:
        if lacking := _distributions(beside) - locked:
            raise Unavailable(f"{' and '.join(sorted(lacking))}: no lock for pypy has that; name a version of CPython")
        return PYPY
    if missing := driver.unavailable(python):
        raise Unavailable(missing)
    return ENVIRONMENT


def _distributions(requirements: Sequence[str]) -> set[str]:
    """Return the names that requirements, or the lines of a lock, begin with."""
    return {name[0] for each in requirements if (name := re.match(r"[\w.-]+", each))}
