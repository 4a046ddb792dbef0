"""Locked environments for targets and for Locust: built from `targets/locks/`, once, and kept in the user's cache.

A lock called ``NAME-3.8.txt`` is for Python 3.8; any other is for the interpreter that iobound runs on, and for those without
a lock of their own. uv builds from Python 3.6 on; for older ones their own pip fills a folder to import from.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

import msgspec
import uv

import iobound
from iobound.errors import LabError, UsageError, nearest
from iobound.lab import cache, interpreters
from iobound.lab.interpreters import Interpreter

LOCKS = Path(iobound.__file__).parent / "targets" / "locks"

MARKER = "complete.json"  # written last: a folder without it is no environment
NO_CERTIFICATE = "invalid peer certificate"
NO_NETWORK = ("network was disabled", "error sending request", "Network connectivity is disabled", "NewConnectionError")
UV_COMPILES = (3, 7)  # to bytecode, from this version on

# Folders of PYTHONPATH aren't searched for .pth files, which make namespace packages of zope before Python 3.3.
PTH = "import os\nimport site\n\nsite.addsitedir(os.path.dirname(os.path.abspath(__file__)))\n"


@dataclass(frozen=True)
class Environment:
    """A built environment: its interpreter and the versions of what is installed, ``python`` among them.

    `name` is that of its lock, with the interpreter where another than the lock's own was asked for. `path` are the folders to
    import from beside those of the interpreter.
    """

    name: str
    python: Path
    packages: dict[str, str]
    path: tuple[Path, ...] = ()


def environment(name: str, python: str | None = None, *, locks: Path = LOCKS) -> Environment:
    """Return the environment of the lock ``locks/NAME.txt``, built where it isn't in the cache yet.

    `python` (``"3.8"``, as in `interpreters.find`) asks for another interpreter than the lock's own; its lock is
    ``NAME-3.8.txt`` where there is one. Builders at the same time wait for each other.
    Raises `UsageError` for an unknown name, `Unavailable` where the interpreter is missing, `LabError` where uv or pip fails.
    """
    asked = python or python_of(name)
    base = interpreters.find(asked) if asked else interpreters.own()
    own = "{}-{}.{}".format(name, *base.release)
    lock = locks / f"{own if (locks / f'{own}.txt').exists() else name}.txt"
    if not lock.exists():
        raise UsageError(nearest(name, sorted(path.stem for path in locks.glob("*.txt")), "environment"))
    key = hashlib.sha256(lock.read_bytes() + str(base.path).encode()).hexdigest()[:12]
    folder = cache.folder() / "environments" / f"{lock.stem}-{key}"
    by_uv = base.release >= interpreters.OLDEST
    with _held(folder.with_name(f"{folder.name}.lock")) as held:
        if not (folder / MARKER).exists() or (by_uv and not _python(folder).exists()):
            _build(folder, lock, base, held)
        packages = msgspec.json.decode((folder / MARKER).read_bytes(), type=dict[str, str])
    called = f"{name}-{python}" if python else name
    if by_uv:
        return Environment(called, _python(folder), packages)
    return Environment(called, base.path, packages, (folder,))


def bare(python: str | None = None) -> Environment:
    """Return an interpreter with nothing but its standard library as an environment; raises as `interpreters.find`."""
    base = interpreters.find(python) if python else interpreters.own()
    return Environment("none", base.path, {"python": base.version})


def python_of(name: str) -> str | None:
    """Return the Python version that a lock is named for, ``None`` for that of iobound's own interpreter."""
    match = re.search(r"-(\d+\.\d+)$", name)
    return match[1] if match else None


@functools.cache
def variants(name: str) -> list[str]:
    """Return the locks of the environment `name`: its own and those for other interpreters."""
    return [name, *sorted(path.stem for path in LOCKS.glob(f"{name}-[0-9]*.txt"))]


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


def _build(folder: Path, lock: Path, base: Interpreter, held: IO[bytes]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    install = _by_uv if base.release >= interpreters.OLDEST else _by_pip
    try:
        with TemporaryDirectory(prefix=f"{folder.name}-", dir=folder.parent) as temporary:  # both leave files in their TMPDIR
            packages = install(folder, lock, base, held, temporary)
        (folder / MARKER).write_bytes(msgspec.json.encode({"python": base.version, **packages}))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _by_uv(folder: Path, lock: Path, base: Interpreter, held: IO[bytes], temporary: str) -> dict[str, str]:
    """Make a virtual environment and return the versions of what is in it."""
    compiled = ["--compile-bytecode"] if base.release >= UV_COMPILES else []
    _uv(["venv", "--no-project", "--python", str(base.path), str(folder)], lock, held, temporary)
    _uv(["pip", "sync", "--python", str(_python(folder)), "--require-hashes", *compiled, str(lock)], lock, held, temporary)
    if not compiled:
        subprocess.run([_python(folder), "-m", "compileall", "-q", folder], capture_output=True)
    return _packages(next(folder.glob("lib/*/site-packages")))


def _by_pip(folder: Path, lock: Path, base: Interpreter, held: IO[bytes], temporary: str) -> dict[str, str]:
    """Fill `folder` with packages and return their versions."""
    ran = subprocess.run(
        [base.path, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--target", folder, "-r", lock],
        env={**os.environ, "TMPDIR": temporary},
        cwd=lock.parent,
        pass_fds=[held.fileno()],
        capture_output=True,
        text=True,
    )
    if ran.returncode:
        raise LabError(_explain(ran.stderr, lock))
    (folder / "sitecustomize.py").write_text(PTH)
    return _packages(folder)


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
            f"its {count} packages aren't all in the cache, and the package index can't be reached; run this once with a "
            "network, or name an index within reach in UV_DEFAULT_INDEX"
        )
    elif "No module named pip" in said:
        way_out = "its Python has no pip; `python -m ensurepip`, run with that Python, installs it"
    else:
        way_out = "installing its packages failed"
    return f"{what}: {way_out}\n{said.strip()[-2000:]}"


def _packages(folder: Path) -> dict[str, str]:
    """Read the versions of what is installed from the folders of their metadata."""
    names = [path.stem for pattern in ("*.dist-info", "*.egg-info") for path in folder.glob(pattern)]
    return dict(sorted((name.split("-")[0], name.split("-")[1]) for name in names if "-" in name))
