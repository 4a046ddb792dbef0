"""The families of primitives in `targets/calls/`, read as text: what is in them, and what each needs."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator

from iobound.lab import environments
from iobound.lab.environments import LOCKS, Environment
from iobound.lab.parts import Part, Primitives, read

FOLDER = LOCKS.parent / "calls"
LOCK = "calls"

Family = Part[Primitives]


@functools.cache
def families() -> dict[str, Family]:
    """Return all families by name."""
    return {path.stem: read(path, Primitives) for path in sorted((FOLDER / "families").glob("*.py"))}


@functools.cache
def names(family: str) -> list[str]:
    """Return the primitives of a family; which of them there are on an old Python, only that Python knows."""
    return [name.replace("_", "-") for name in _functions(ast.parse(families()[family].path.read_text()).body)]


def _functions(body: list[ast.stmt]) -> Iterator[str]:
    """Yield the public functions of a module, also those that are only defined on some versions."""
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)) and not statement.name.startswith("_"):
            yield statement.name
        elif isinstance(statement, ast.If):
            yield from _functions(statement.body)


def needs_packages(family: str, loop: str | None) -> bool:
    """Tell whether measuring a family on an event loop needs more than the standard library."""
    return bool(families()[family].dependencies) or loop == "uvloop"


def environment(family: str, loop: str | None, python: str) -> Environment:
    """Return where to measure a family: the locked environment where it needs packages, else the bare interpreter.

    Raises as `environments.environment`.
    """
    return environments.environment(LOCK, python) if needs_packages(family, loop) else environments.bare(python)
