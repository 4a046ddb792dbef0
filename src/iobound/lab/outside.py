"""What is seen from outside of a program that doesn't say itself what runs: its packages and their compiled parts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from iobound.lab.processes import tree

EXTENSION = re.compile(r"/site-packages/([^/.]++)(?!\.libs)[^ ]*\.so")


def compiled(pid: int) -> list[str]:
    """Return the packages and modules whose compiled parts are loaded by `pid` or its descendants (Linux: from their maps)."""
    maps = (Path(f"/proc/{process}/maps").read_text() for process in tree(pid))
    return sorted({name for mapped in maps for name in EXTENSION.findall(mapped)})


def versions(requirements: Iterable[str], packages: Mapping[str, str]) -> dict[str, str]:
    """Return the installed versions of what `requirements` name, as they spell it, extras left out."""
    installed = {_normal(name): version for name, version in packages.items()}
    names = [re.split(r"[^\w.-]", requirement, maxsplit=1)[0] for requirement in requirements]
    return {name: installed[_normal(name)] for name in names}


def _normal(name: str) -> str:
    """Return the name of a package as all its spellings agree on it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()
