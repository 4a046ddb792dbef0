"""A function with all that belongs to exploring it: written beside it as a decorator, found by FILE:NAME."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from iobound.errors import UsageError, nearest
from iobound.records.race import Model

Function = Callable[..., Any]
Setup = str | Callable[..., Any]
Decorated = TypeVar("Decorated", bound=Function)

ATTRIBUTE = "__iobound_race__"


@dataclass(frozen=True)
class Case:
    """What is explored: which calls run at once, from which state, what must hold afterwards, and where.

    `functions` and `arguments` have one entry a session. `database` is a URL, or the name of a service that is started for it.
    """

    functions: Sequence[Function]
    arguments: Sequence[tuple[Any, ...]]
    setup: Setup | None = None
    invariant: Callable[..., Any] | None = None
    database: str | None = None
    isolation: Sequence[str] | None = None
    model: Model = "threads"
    name: str = ""


def case(
    *,
    sessions: int | Sequence[Any] | None = None,
    setup: Setup | None = None,
    invariant: Callable[..., Any] | None = None,
    database: str | None = None,
    isolation: Sequence[str] | None = None,
    model: Model = "threads",
    together_with: Sequence[Function] = (),
) -> Callable[[Decorated], Decorated]:
    """Say beside a function how it is explored; `together_with` are other functions, which run in the sessions after the first.

    The function itself stays as it is. See `iobound.race.explore` for the rest.
    """

    def decorate(function: Decorated) -> Decorated:
        functions: Function | Sequence[Function] = [function, *together_with] if together_with else function
        made = build(functions, sessions)
        described = replace(made, setup=setup, invariant=invariant, database=database, isolation=isolation, model=model)
        setattr(function, ATTRIBUTE, described)
        return function

    return decorate


def combine(
    function: Function | Sequence[Function],
    sessions: int | Sequence[Any] | None = None,
    *,
    setup: Setup | None = None,
    invariant: Callable[..., Any] | None = None,
    database: str | None = None,
    isolation: Sequence[str] | str | None = None,
    model: Model | None = None,
) -> Case:
    """Return the case of what is said here, and where it isn't of what the function's own ``@race.case`` says."""
    described = getattr(function, ATTRIBUTE, None)
    made: Case = build(function, sessions) if sessions is not None or described is None else described
    described = described or made
    return Case(
        functions=made.functions,
        arguments=made.arguments,
        setup=setup if setup is not None else described.setup,
        invariant=invariant if invariant is not None else described.invariant,
        database=database or described.database,
        isolation=[isolation] if isinstance(isolation, str) else isolation or described.isolation,
        model=model or described.model,
        name=described.name or made.name,
    )


def build(function: Function | Sequence[Function], sessions: int | Sequence[Any] | None) -> Case:
    """Return the case of one function in several sessions, or of a list of functions in one session each.

    `sessions` is a number, or the arguments of each session: a tuple, or a single value. Raises `UsageError` where a function
    can't be called with its arguments.
    """
    several = list(function) if isinstance(function, Sequence) else []
    if sessions is None:
        sessions = len(several) or 2
    arguments = [()] * sessions if isinstance(sessions, int) else [_tuple(each) for each in sessions]
    functions = several if isinstance(function, Sequence) else [function] * len(arguments)
    if len(functions) != len(arguments):
        raise UsageError(f"{len(functions)} functions but {len(arguments)} sessions; give one call to each session")
    if len(functions) < 2:
        raise UsageError("one session can't race; give at least two")
    for each, given in zip(functions, arguments, strict=True):
        if not callable(each):
            raise UsageError(f"{each!r} isn't a function")
        _check_arguments(each, given)
    return Case(functions, arguments, name=spec(functions[0]))


def _tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _check_arguments(function: Function, arguments: tuple[Any, ...]) -> None:
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError as error:
        raise UsageError(
            f"{getattr(function, '__name__', function)} can't be called with {arguments!r}: {error}; "
            "give each session's arguments with sessions=[(…), (…)]"
        ) from None
    except ValueError:
        return  # a builtin without a signature


def spec(function: Function) -> str:
    """Return FILE:NAME of a function."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    name = getattr(function, "__qualname__", repr(function))
    return f"{code.co_filename}:{name}" if code else name


def load(named: str) -> Case:
    """Return the case of FILE:NAME, whose file is run; raises `UsageError`."""
    file, _, name = named.rpartition(":")
    if not file or not name:
        raise UsageError(f"{named!r} names no function; write FILE:NAME, for example app/shop.py:redeem")
    function = find(Path(file), name)
    described = getattr(function, ATTRIBUTE, None)
    if described is None:
        raise UsageError(f"{named} doesn't say how it is explored; write @race.case(sessions=…, setup=…, invariant=…) above it")
    found: Case = replace(described, name=named)
    return found


def find(file: Path, name: str) -> Any:
    """Return what is called `name` (dots allowed) in the module of `file`."""
    found: Any = module(file)
    for part in name.split("."):
        if not hasattr(found, part):
            raise UsageError(f"{file}: {nearest(part, [each for each in dir(found) if not each.startswith('__')], 'name')}")
        found = getattr(found, part)
    return found


def undecorated(found: Any) -> Function:
    """Return a function as it is called; raises `UsageError` for what isn't one."""
    if not callable(found):
        raise UsageError(f"{found!r} isn't a function")
    function: Function = found
    return function


def module(file: Path) -> ModuleType:
    """Import `file`, once; what it imports beside it is found."""
    path = file.resolve()
    for loaded in list(sys.modules.values()):
        if getattr(loaded, "__file__", None) == str(path) and loaded.__name__ != "__main__":
            return loaded
    if not path.is_file():
        raise UsageError(f"{file}: no such file; write FILE:NAME, for example app/shop.py:redeem")
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    described = importlib.util.spec_from_file_location(path.stem, path)
    if described is None or described.loader is None:
        raise UsageError(f"{file} can't be imported; write FILE:NAME with a file that ends in .py")
    made = importlib.util.module_from_spec(described)
    sys.modules[path.stem] = made
    try:
        described.loader.exec_module(made)
    except Exception as error:
        del sys.modules[path.stem]
        raise UsageError(f"{file} can't be imported: {type(error).__name__}: {error}") from error
    return made
