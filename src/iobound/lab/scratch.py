"""Temporary folders of iobound, each marked and locked while it is in use, so that `sweep` finds those of killed runs."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

from iobound.errors import LabError
from iobound.lab.unprivileged import User, reaches

PREFIX = "iobound-"
MARK = ".iobound"


class Scratch:
    """A folder of our own under TMPDIR; a context manager that removes it. The lock on its mark says that it is in use.

    `reader` is another user who must be able to enter it, `needs_mb` the room that must be free. Raises `LabError` where the
    folder can't be made, isn't reachable or hasn't the room.
    """

    def __init__(self, purpose: str, *, reader: User | None = None, needs_mb: int = 1) -> None:
        parent = Path(tempfile.gettempdir())
        free_mb = shutil.disk_usage(parent).free >> 20
        if free_mb < needs_mb:
            raise LabError(
                f"{purpose} needs {needs_mb} MB of disk, {parent} has {free_mb} MB free; "
                "make room, or set TMPDIR to a folder on a larger disk"
            )
        if reader and not reaches(reader, parent):
            raise LabError(
                f"{purpose} runs as user number {reader.uid}, who can't enter {parent}; "
                "set TMPDIR to a folder that all users can enter"
            )
        try:
            self.path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{purpose}-"))
            if reader:
                self.path.chmod(0o711)
            self._mark = (self.path / MARK).open("x")
        except OSError as error:
            raise LabError(
                f"can't make a folder for {purpose} under {parent}: {error.strerror}; set TMPDIR to a folder that is yours"
            ) from error
        fcntl.flock(self._mark, fcntl.LOCK_EX)

    def folder(self, name: str, owner: User | None = None) -> Path:
        """Make the private folder `name` inside, for `owner` where that is another user."""
        made = self.path / name
        made.mkdir(0o700)
        if owner:
            os.chown(made, owner.uid, owner.gid)
        return made

    def close(self) -> None:
        """Remove the folder. Safe to call twice."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._mark.close()

    def __enter__(self) -> Scratch:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def sweep() -> tuple[list[Path], list[Path]]:
    """Remove the marked folders of ours that nobody uses any more; return those removed and those still in use."""
    removed, in_use = [], []
    for folder in sorted(Path(tempfile.gettempdir()).glob(f"{PREFIX}*")):
        if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
            continue
        try:
            mark = os.open(folder / MARK, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue  # not marked: not ours
        try:
            fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            in_use.append(folder)
        else:
            shutil.rmtree(folder)
            removed.append(folder)
        finally:
            os.close(mark)
    return removed, in_use
