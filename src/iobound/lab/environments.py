"""Locked environments for targets and for Locust: built by uv from `targets/locks/`, once, and kept in the user's cache.

A lock called ``NAME-3.8.txt`` is for Python 3.8; any other is for the interpreter that iobound runs on.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

import msgspec
import uv

import iobound
from iobound.errors import LabError, Unavailable, UsageError, nearest
from iobound.lab import cache

LOCKS = Path(iobound.__file__).parent / "targets" / "locks"

MARKER = "complete.json"  # written last: a folder without it is no environment
NO_CERTIFICATE = "invalid peer certificate"
NO_NETWORK = ("network was disabled", "error sending request", "Network connectivity is disabled")


@dataclass(frozen=True)
class Environment:
    """A built environment: its interpreter and the versions of what is installed, ``python`` among them.

    `path` are the folders to import from beside those of the interpreter.
    """

    name: str
    python: Path
    packages: dict[str, str]
    path: tuple[Path, ...] = ()


def environment(name: str, python: str | None = None, *, locks: Path = LOCKS) -> Environment:
    """Return the environment of the lock ``locks/NAME.txt``, built where it isn't in the cache yet.

    `python` (``"3.8"``) asks for another interpreter than the lock's own; its lock is ``NAME-3.8.txt`` where there is one.
    Builders at the same time wait for each other.
    Raises `UsageError` for an unknown name, `Unavailable` where the interpreter is missing, `LabError` where uv fails.
    """
    own = f"{name}-{python}" if python else name
    lock = locks / f"{own if (locks / f'{own}.txt').exists() else name}.txt"
    if not lock.exists():
        raise UsageError(nearest(name, sorted(path.stem for path in locks.glob("*.txt")), "environment"))
    base = _base(python or python_of(name))
    key = hashlib.sha256(lock.read_bytes() + str(base).encode()).hexdigest()[:12]
    folder = cache.folder() / "environments" / f"{lock.stem}-{key}"
    with _held(folder.with_name(f"{folder.name}.lock")) as held:
        if not (folder / MARKER).exists() or not _python(folder).exists():
            _build(folder, lock, base, held)
        return Environment(lock.stem, _python(folder), msgspec.json.decode((folder / MARKER).read_bytes(), type=dict[str, str]))


def python_of(name: str) -> str | None:
    """Return the Python version that a lock is named for, ``None`` for that of iobound's own interpreter."""
    match = re.search(r"-(\d+\.\d+)$", name)
    return match[1] if match else None


@functools.cache
def variants(name: str) -> list[str]:
    """Return the locks of the environment `name`: its own and those for other interpreters."""
    return [name, *sorted(path.stem for path in LOCKS.glob(f"{name}-[0-9]*.txt"))]


@functools.cache
def interpreter(version: str) -> Path | None:
    """Return the path of a Python ``X.Y`` on this machine, as uv or pyenv knows it; ``None`` where there is none."""
    found = subprocess.run(
        [uv.find_uv_bin(), "python", "find", "--no-project", "--no-python-downloads", version], capture_output=True, text=True
    )
    if found.returncode == 0:
        return Path(found.stdout.strip())
    # pyenv's shim for a version that isn't chosen fails, and uv looks no further.
    versions = Path(os.environ.get("PYENV_ROOT") or cache.home() / ".pyenv") / "versions"
    return next(iter(sorted(versions.glob(f"{version}.*/bin/python"))), None)


def _base(version: str | None) -> Path:
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    if version in (None, own):
        return Path(getattr(sys, "_base_executable", sys.executable))
    assert version is not None
    found = interpreter(version)
    if found is None:
        raise Unavailable(f"Python {version} isn't on this machine; `uv python install {version}` installs it")
    return found


def _python(folder: Path) -> Path:
    return folder / "bin" / "python"


@contextmanager
def _held(path: Path) -> Iterator[IO[bytes]]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        held = path.open("wb")
    except OSError as error:
        raise LabError(f"can't write {path} ({error.strerror}); set XDG_CACHE_HOME to a folder that is yours") from error
    with held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield held


def _build(folder: Path, lock: Path, base: Path, held: IO[bytes]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    sync = ["pip", "sync", "--python", str(_python(folder)), "--require-hashes", "--compile-bytecode", str(lock)]
    try:
        with TemporaryDirectory(prefix=f"{folder.name}-", dir=folder.parent) as temporary:  # uv leaves files in its TMPDIR
            _uv(["venv", "--no-project", "--python", str(base), str(folder)], lock, held, temporary)
            _uv(sync, lock, held, temporary)
        (folder / MARKER).write_bytes(msgspec.json.encode(_packages(folder)))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _uv(arguments: list[str], lock: Path, held: IO[bytes], temporary: str) -> None:
    """Run uv with the caller's own configuration, again with the system's certificates where its own don't do.

    It inherits the lock: one that outlives a killed iobound keeps others from building into the same folder.
    """
    for certificates in ([], ["--system-certs"]):
        ran = subprocess.run(
            [uv.find_uv_bin(), "--no-progress", *certificates, *arguments],
            env={**_pip_index(), **os.environ, "TMPDIR": temporary},
            cwd=lock.parent,
            pass_fds=[held.fileno()],
            capture_output=True,
            text=True,
        )
        if NO_CERTIFICATE not in ran.stderr:
            break
    if ran.returncode:
        raise LabError(_explain(ran.stderr, lock))


def _pip_index() -> dict[str, str]:
    """Return the index that pip was told of by its environment as uv is told: who set one up for pip set it up for this too."""
    return {"UV_DEFAULT_INDEX": os.environ["PIP_INDEX_URL"]} if "PIP_INDEX_URL" in os.environ else {}


def _explain(said: str, lock: Path) -> str:
    what = f"the environment {lock.stem!r} can't be built"
    if NO_CERTIFICATE in said:
        way_out = "the certificate of the package index isn't trusted; name a file with the right ones in SSL_CERT_FILE"
    elif any(sign in said for sign in NO_NETWORK):
        count = len(re.findall(r"^[\w.-]+==", lock.read_text(), re.MULTILINE))
        way_out = (
            f"its {count} packages aren't all in uv's cache, and the package index can't be reached; run this once with a "
            "network, or name an index within reach in UV_DEFAULT_INDEX"
        )
    else:
        way_out = "uv failed"
    return f"{what}: {way_out}\n{said.strip()[-2000:]}"


def _packages(folder: Path) -> dict[str, str]:
    """Read the versions of what is installed from the folders of their metadata."""
    config = dict(line.split(" = ", 1) for line in (folder / "pyvenv.cfg").read_text().splitlines())
    names = (path.name.removesuffix(".dist-info") for path in folder.glob("lib/python*/site-packages/*.dist-info"))
    return {"python": config["version_info"], **dict(sorted(name.split("-", 1) for name in names))}
