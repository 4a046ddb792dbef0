"""Where in the user's program a session is: the innermost frame that isn't of a library, of Python or of iobound."""

from __future__ import annotations

import sysconfig
from functools import cache
from pathlib import Path
from types import FrameType

import iobound

LIBRARIES = tuple(
    {*(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")), str(Path(iobound.__file__).parent)}
)


@cache
def ours(file: str) -> bool:
    """Tell whether `file` belongs to the user's program."""
    return not file.startswith(("<", *LIBRARIES))


def innermost(frame: FrameType | None) -> str | None:
    """Return FILE:LINE of the first frame of the program from `frame` outwards."""
    while frame is not None:
        if ours(frame.f_code.co_filename):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return None
