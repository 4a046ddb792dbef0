"""What other tools can read of an exploration: one file a format, each with `SUFFIX` and ``render(report) -> str``."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from iobound.errors import UsageError, nearest
from iobound.records.race import Report


def known() -> list[str]:
    """Return the names of the formats, one for each file in the folder."""
    return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__))


def render(name: str, report: Report) -> str:
    """Return `report` in the format called `name`; raises `UsageError` where there is none, or none for this."""
    if name not in known():
        raise UsageError(nearest(name, known(), "format"))
    text: str = import_module(f"{__name__}.{name.replace('-', '_')}").render(report)
    return text
