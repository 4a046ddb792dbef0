"""The Python interpreters of this machine: on PATH, in pyenv, and those that uv has installed. Nothing is downloaded.

An interpreter is asked for as ``3.8``, ``3.8.18``, ``3.13t`` (free-threaded), ``pypy3``, ``pypy3.10``, ``2.7`` or by its path.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import uv

from iobound.errors import Unavailable, UsageError
from iobound.lab import cache

Implementation = Literal["cpython", "pypy"]
Source = Literal["own", "path", "pyenv", "uv"]

ASKED = re.compile(r"(pypy)?(\d+(?:\.\d+){0,2})(t)?")
COMMON = ["2.7", "3.6", "3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.13t", "3.14t", "pypy3"]
OLDEST = (3, 6)  # of those that uv makes environments for
ANSWER_S = 20.0

# Runs on any Python since 2.6.
FACTS = """
import json, platform, sys, sysconfig
print(json.dumps({
    "version": "%d.%d.%d" % sys.version_info[:3],
    "implementation": platform.python_implementation().lower(),
    "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
}))
"""


@dataclass(frozen=True)
class Interpreter:
    """An interpreter that was started and told what it is. `version` is that of the language, of three numbers."""

    path: Path
    version: str
    implementation: Implementation
    free_threaded: bool
    source: Source

    @property
    def release(self) -> tuple[int, int]:
        """The first two numbers of the version."""
        major, minor = self.version.split(".")[:2]
        return int(major), int(minor)


@dataclass(frozen=True)
class _Wanted:
    """What an interpreter must be."""

    implementation: Implementation
    version: str
    free_threaded: bool

    @property
    def program(self) -> str:
        """What its executable is called."""
        release = ".".join(self.version.split(".")[:2])
        return f"{'pypy' if self.implementation == 'pypy' else 'python'}{release}{'t' if self.free_threaded else ''}"

    def is_met_by(self, found: Interpreter) -> bool:
        """Tell whether `found` is what was asked for."""
        same = (found.implementation, found.free_threaded) == (self.implementation, self.free_threaded)
        return same and f"{found.version}.".startswith(f"{self.version}.")


@functools.cache
def find(asked: str) -> Interpreter:
    """Return the interpreter that `asked` stands for.

    Raises `Unavailable` naming what was tried, and the command that installs it; `UsageError` where `asked` is neither a
    version nor the path of a Python.
    """
    if "/" in asked:
        return _at(Path(asked))
    match = ASKED.fullmatch(asked)
    if match is None:
        raise UsageError(f"--python: {asked!r} is no version; it is like 3.8, 3.13t, pypy3 or 2.7, or the path of a Python")
    wanted = _Wanted("pypy" if match[1] else "cpython", match[2], bool(match[3]))
    tried = []
    for path, source in _candidates(wanted):
        try:
            found = _ask(path, source)
        except _NoPythonError as error:
            tried.append(f"{path}: {error}")
        else:
            if wanted.is_met_by(found):
                return found
    raise Unavailable(
        f"Python {asked} isn't on this machine: no {wanted.program} on PATH, in pyenv or among those of uv that runs"
        + "".join(f"\n  tried {each}" for each in tried)
        + f"\n`{_installs(wanted)}` installs it"
    )


def missing(asked: str) -> str | None:
    """Say what is missing where the interpreter `asked` can't be had, and what installs it."""
    try:
        find(asked)
    except Unavailable as error:
        return str(error)
    return None


def own() -> Interpreter:
    """Return the interpreter that iobound runs on, outside of any environment."""
    return _ask(Path(getattr(sys, "_base_executable", sys.executable)), "own")


def oldest_python3() -> Interpreter:
    """Return the oldest CPython 3 found from 3.6 on, iobound's own where there is no older."""
    for minor in range(OLDEST[1], sys.version_info.minor):
        if missing(f"3.{minor}") is None:
            return find(f"3.{minor}")
    return own()


def common() -> list[str]:
    """Return which of the usual interpreters are on this machine, as they are asked for."""
    return [asked for asked in COMMON if missing(asked) is None]


class _NoPythonError(Exception):
    """What was started isn't a Python that works."""


def _at(path: Path) -> Interpreter:
    try:
        return _ask(path, "path")
    except _NoPythonError as error:
        raise UsageError(f"--python: {path} isn't a Python that runs: {error}") from error


def _candidates(wanted: _Wanted) -> Iterator[tuple[Path, Source]]:
    """Yield executables that may be what is wanted, in the order of preference."""
    mine = own()
    if wanted.is_met_by(mine):
        yield mine.path, "own"
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        if path := shutil.which(wanted.program, path=folder):
            yield Path(path), "path"
    pyenv = Path(os.environ.get("PYENV_ROOT") or cache.home() / ".pyenv") / "versions"
    yield from ((path, "pyenv") for path in _installed(pyenv, wanted.program))
    yield from ((path, "uv") for path in _installed(_uv_folder(), wanted.program))


def _installed(folder: Path, program: str) -> list[Path]:
    """Return the executables called `program` of the installations in `folder`, the newest first."""
    found = folder.glob(f"*/bin/{program}")
    return sorted(found, key=lambda path: [int(number) for number in re.findall(r"\d+", path.parts[-3])], reverse=True)


@functools.cache
def _uv_folder() -> Path:
    said = subprocess.run([uv.find_uv_bin(), "python", "dir"], capture_output=True, text=True)
    return Path(said.stdout.strip() or os.devnull)


@functools.cache
def _ask(path: Path, source: Source) -> Interpreter:
    """Start an executable and have it say what it is. A shim of pyenv for a version that isn't chosen fails here."""
    try:
        said = subprocess.run([path, "-ESs", "-c", FACTS], capture_output=True, text=True, timeout=ANSWER_S, cwd="/")
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _NoPythonError(getattr(error, "strerror", None) or f"it didn't answer within {ANSWER_S:g} s") from error
    try:
        return Interpreter(path=path.absolute(), source=source, **json.loads(said.stdout))
    except (ValueError, TypeError) as error:
        first = (said.stderr.strip() or said.stdout.strip() or "it said nothing").splitlines()[0]
        raise _NoPythonError(f"it ended with {said.returncode}: {first}") from error


def _installs(wanted: _Wanted) -> str:
    if wanted.implementation == "pypy" and wanted.version == "3":
        return "apt-get install pypy3"
    manager = "pyenv install" if wanted.version < "3" else "uv python install"
    return f"{manager} {wanted.program.removeprefix('python')}"
