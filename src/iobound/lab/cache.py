"""The folder of this user's where iobound keeps what is worth keeping from run to run."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def folder() -> Path:
    """Return ``$XDG_CACHE_HOME/iobound``, by default under ``~/.cache``; it need not exist.

    A relative one is ignored, as the XDG base directory specification says. A user without a home has it under TMPDIR.
    """
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (given if given.is_absolute() else home() / ".cache") / "iobound"


def home() -> Path:
    """Return the home folder of this user, or a private one under TMPDIR where they have none."""
    try:
        return Path.home()
    except RuntimeError:  # HOME isn't set, and this user's number has no name
        return Path(tempfile.gettempdir()) / f"iobound-home-{os.getuid()}"
