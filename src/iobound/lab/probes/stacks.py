"""Samples the Python stacks of a process from outside, without stopping it, by Austin: what is on a processor, and since where.

Only CPython from 3.8 on is understood. What runs in C shows as the Python function that called it.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from iobound.errors import Unavailable
from iobound.lab.processes import spawn
from iobound.lab.scratch import Scratch

INTERVAL_US = 500
OLDEST = (3, 8)
PATIENCE_S = 5.0
UNREADABLE = ":INVALID:"  # a stack that changed while it was read
GARBAGE = ":GC:"

_PREFIX = re.compile(r"^P\d+;T[^;]*;?")
_STANDARD = re.compile(r"^.*/(?:lib/python\d[^/]*|lib/pypy[^/]*)/")


class Stacks:
    """What was seen: `counts` of samples by stack, outermost function first, each as ``path:function``.

    A path is as one imports it: ``pymysql/connections.py``; that of a module of the standard library begins with
    ``python/``, that of a program of ours has no folder. ``:GC:`` is the garbage collector. Where nothing could be seen,
    `failed` says why.
    """

    def __init__(self) -> None:
        self.failed: str | None = None
        self.counts: Counter[tuple[str, ...]] = Counter()


def unavailable(implementation: str, release: tuple[int, int]) -> str | None:
    """Say why the stacks of an interpreter can't be sampled; ``None`` where they can."""
    if implementation != "cpython" or release < OLDEST:
        return f"Austin reads the stacks of CPython from {OLDEST[0]}.{OLDEST[1]} on"
    try:
        _austin()
    except Unavailable as error:
        return str(error)
    return None


@contextmanager
def sampled(pid: int, cpus: Sequence[int]) -> Iterator[Stacks]:
    """Sample the process `pid` from `cpus` until it ends, which it must within the context; the stacks are there afterwards.

    Raises `Unavailable` without Austin.
    """
    austin = _austin()
    stacks = Stacks()
    with ExitStack() as exits:
        folder = exits.enter_context(Scratch("stacks")).path
        written = exits.enter_context((folder / "samples").open("w+"))  # read when its guard has removed the folder
        argv = [austin, "-s", "-g", "-i", f"{INTERVAL_US}us", "-p", str(pid), "-o", written.name]
        process = exits.enter_context(spawn(argv, env={"PATH": os.defpath}, cwd=folder, cpus=cpus, remove=[folder]))
        yield stacks
        deadline = time.monotonic() + PATIENCE_S
        while process.alive() and time.monotonic() < deadline:
            time.sleep(0.005)
        if process.returncode != 0:
            stacks.failed = f"Austin couldn't sample process {pid}: {_last_line(process.output())}"
        stacks.counts = _read(written.read())


def _austin() -> str:
    found = shutil.which("austin", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]))
    if found is None:
        raise Unavailable("Austin isn't there; install it with: pip install 'austin-dist>=3.7,<4'")
    return found


def _read(text: str) -> Counter[tuple[str, ...]]:
    counts: Counter[tuple[str, ...]] = Counter()
    for line in text.splitlines():
        if line.startswith("P") and UNREADABLE not in line:
            stack, _, _ = line.rpartition(" ")
            counts[tuple(map(named, filter(None, _PREFIX.sub("", stack).split(";"))))] += 1
    for ending in ((), (GARBAGE,)):  # an interpreter that ends collects garbage when no function runs any more
        counts.pop(ending, None)
    return counts


def named(frame: str) -> str:
    """Return ``path:function`` of a frame ``path:function:line``."""
    path, function, *_ = [*frame.rsplit(":", 2), ""]
    if frame.startswith(":"):
        return frame
    _, site, package = path.rpartition("/site-packages/")
    if site:
        return f"{package}:{function}"
    return f"{_STANDARD.sub('python/', path) if _STANDARD.match(path) else Path(path).name}:{function}"


def _last_line(said: str) -> str:
    return re.sub(r"\x1b\[[\d;]*m", "", said).strip().splitlines()[-1] if said.strip() else "it said nothing"
