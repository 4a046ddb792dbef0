"""Load engines, found by their files in ``engines/``: ``locust:HttpUser`` is ``locust_http_user.py``.

An engine's file defines ``NAME`` and ``run(spec)``; where it may be missing, ``available()`` tells why and what helps.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable
from importlib import import_module
from typing import Protocol, cast

from iobound.errors import UsageError, nearest
from iobound.load import engines
from iobound.load.spec import LoadSpec
from iobound.records import LoadResult

DEFAULT = "iobound"


class Interrupted(KeyboardInterrupt):
    """Ctrl-C while load was offered; `result` is what was measured until then, ``None`` if nothing was."""

    def __init__(self, result: LoadResult | None) -> None:
        super().__init__()
        self.result = result


class Engine(Protocol):
    """What the file of an engine defines."""

    NAME: str

    def run(self, spec: LoadSpec) -> LoadResult:
        """Offer one block of load. Raises `UsageError` for what this engine can't offer, `LabError` where it fails."""
        ...


def known() -> list[str]:
    """Return the names of the engines, the default one first."""
    names = [_load(module.name).NAME for module in pkgutil.iter_modules(engines.__path__)]
    return sorted(names, key=lambda name: (name != DEFAULT, name))


def find(name: str) -> Engine:
    """Return the engine called `name`; raises `UsageError` with the nearest names."""
    module = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.replace(":", "_").replace("-", "_")).lower()
    if module not in {found.name for found in pkgutil.iter_modules(engines.__path__)}:
        raise UsageError(nearest(name, known(), "engine"))
    return _load(module)


def available(name: str) -> str | None:
    """Tell why the engine called `name` can't be used here and what helps; ``None`` where it can."""
    check: Callable[[], str | None] | None = getattr(find(name), "available", None)
    return check() if check else None


def _load(module: str) -> Engine:
    return cast(Engine, import_module(f"{engines.__name__}.{module}"))
