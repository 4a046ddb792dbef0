"""The programs that load rows in bulk, found by their files in `targets/bulk/`: a model each, and what drivers it can drive."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from iobound.errors import UsageError, nearest
from iobound.lab import drivers, parts
from iobound.lab.catalogue import FOLDER as TARGETS
from iobound.lab.drivers import Driver
from iobound.lab.parts import Loader, Part

FOLDER = TARGETS / "bulk"


@cache
def catalogue() -> dict[str, Part[Loader]]:
    """Return all loaders by name."""
    return {path.stem: parts.read(path, Loader) for path in sorted(FOLDER.glob("*.py"))}


def find(asked: str) -> tuple[Part[Loader], Driver]:
    """Return the loader and the driver of ``model/driver``; an asynchronous driver may be called without its ``-async``.

    Raises `UsageError` for unknown names, and for a driver that the model can't drive, naming those that it can.
    """
    model, slash, name = asked.partition("/")
    if not slash:
        raise UsageError(f"--models: {asked!r} is no model with its driver; write for example threads/psycopg2")
    if model not in catalogue():
        raise UsageError(nearest(model, list(catalogue()), "model"))
    loader = catalogue()[model]
    for candidate in (name, f"{name}-async"):
        if candidate in drivers.names() and drives(loader.description, drivers.find(candidate)):
            return loader, drivers.find(candidate)
    drivers.find(name)
    driven = ", ".join(each for each in drivers.names() if drives(loader.description, drivers.find(each)))
    raise UsageError(f"--models: {model} can't drive {name}; it drives {driven}")


def drives(loader: Loader, driver: Driver) -> bool:
    """Tell whether a driver can be driven by a loader, on a database that bulk loads go to."""
    fits = driver.calls == loader.calls and loader.model in driver.models
    return fits and driver.offers == "sql" and driver.service in {"postgresql", "mariadb"}


def files(loader: Part[Loader], driver: Driver) -> Mapping[str, Path]:
    """Return the files of the program, by what they are called in its folder."""
    shared = {path.name: path for path in sorted((FOLDER / "shared").glob("*.py"))}
    return {"program.py": loader.path, "driver.py": driver.path, **shared}
