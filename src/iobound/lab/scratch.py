"""Temporary folders of iobound, each marked and locked while it is in use, so that `sweep` finds those of killed runs."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from iobound.errors import LabError
from iobound.lab.unprivileged import User, reaches

PREFIX = "iobound-"
MARK = ".iobound"


class Scratch:
    """A folder of our own under TMPDIR; a context manager that removes it. The lock on its mark says that it is in use.

    `owner` is another user to whom what is made in it belongs, `needs_mb` the room that must be free. Raises `LabError` where
    the folder can't be made, the owner can't enter it or it hasn't the room.
    """

    def __init__(self, purpose: str, *, owner: User | None = None, needs_mb: int = 1) -> None:
        with _explained(f"find a temporary folder for {purpose}"):
            parent = Path(tempfile.gettempdir())
        free_mb = shutil.disk_usage(parent).free >> 20
        if free_mb < needs_mb:
            raise LabError(
                f"{purpose} needs {needs_mb} MB of disk, {parent} has {free_mb} MB free; "
                "make room, or set TMPDIR to a folder on a larger disk"
            )
        if owner and not reaches(owner, parent):
            raise LabError(
                f"{purpose} runs as user number {owner.uid}, who can't enter {parent}; "
                "set TMPDIR to a folder that all users can enter"
            )
        self._owner = owner
        with _explained(f"make a folder for {purpose} under {parent}"):
            self.path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{purpose}-"))
            self._mark = (self.path / MARK).open("x")
            fcntl.flock(self._mark, fcntl.LOCK_EX)
            if owner:
                self.path.chmod(0o711)

    def folder(self, name: str) -> Path:
        """Make the private folder `name` inside."""
        made = self.path / name
        with _explained(f"make {made}"):
            made.mkdir(0o700)
            self._give(made)
        return made

    def file(self, name: str, text: str) -> Path:
        """Write the private file `name` inside."""
        made = self.path / name
        with _explained(f"write {made}"):
            made.touch(0o600)
            made.write_text(text)
            self._give(made)
        return made

    def copy(self, source: Path, name: str, ignore: tuple[str, ...] = ()) -> Path:
        """Copy the folder `source`, without the files that match `ignore`, to `name` inside."""
        made = self.path / name
        with _explained(f"copy {source} to {made}"):
            shutil.copytree(source, made, ignore=shutil.ignore_patterns(*ignore))
            for path in (made, *made.rglob("*")):
                self._give(path)
        return made

    def close(self) -> None:
        """Remove the folder. Safe to call twice."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._mark.close()

    def __enter__(self) -> Scratch:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _give(self, path: Path) -> None:
        if self._owner:
            os.chown(path, self._owner.uid, self._owner.gid)


@contextmanager
def _explained(what: str) -> Iterator[None]:
    """Turn an `OSError` into a `LabError` that says `what` failed."""
    try:
        yield
    except OSError as error:
        raise LabError(f"can't {what}: {error.strerror or error}; set TMPDIR to a folder that is yours and has room") from error


def sweep() -> tuple[list[Path], list[Path]]:
    """Remove the marked folders of ours that nobody uses any more; return those removed and those still in use."""
    removed, in_use = [], []
    for folder in sorted(Path(tempfile.gettempdir()).glob(f"{PREFIX}*")):
        if folder.is_symlink():
            continue
        try:
            mark = (folder / MARK).open()
        except OSError:
            continue  # not marked or not to be touched by us: not ours
        with mark:
            if os.fstat(mark.fileno()).st_uid != os.geteuid():
                continue
            try:
                fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                in_use.append(folder)
                continue
            try:
                shutil.rmtree(folder)
            except OSError as error:
                raise LabError(f"can't remove {folder}: {error.strerror}; remove it by hand") from error
            removed.append(folder)
    return removed, in_use
