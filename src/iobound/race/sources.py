"""Where in the user's program a session is: the innermost frame that isn't of a library, of Python or of iobound."""

from __future__ import annotations

import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import FrameType, TracebackType

import iobound

LIBRARIES = tuple(
    {*(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")), str(Path(iobound.__file__).parent)}
)

DRIVERS = ("psycopg", "asyncpg", "pymysql", "aiomysql", "asyncmy", "MySQLdb", "aiosqlite")


@cache
def ours(file: str) -> bool:
    """Tell whether `file` belongs to the user's program."""
    return not file.startswith(("<", *LIBRARIES))


def raised(error: BaseException) -> str | None:
    """Return FILE:LINE of the innermost frame of the program that `error` came through."""
    places = [(each.tb_frame.f_code.co_filename, each.tb_lineno) for each in _traceback(error.__traceback__)]
    return next((f"{file}:{line}" for file, line in reversed(places) if ours(file)), None)


def _traceback(entry: TracebackType | None) -> Iterator[TracebackType]:
    while entry is not None:
        yield entry
        entry = entry.tb_next


def is_driver(frame: FrameType | None) -> bool:
    """Tell whether `frame` is of a database driver."""
    return frame is not None and any(f"/{driver}/" in frame.f_code.co_filename for driver in DRIVERS)


def innermost(frame: FrameType | None) -> str | None:
    """Return FILE:LINE of the first frame of the program from `frame` outwards."""
    while frame is not None:
        if ours(frame.f_code.co_filename):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return None
