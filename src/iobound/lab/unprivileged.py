"""The user that servers run as when iobound runs as root, since database servers refuse to."""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass
from pathlib import Path

from iobound.errors import LabError

NAME = "nobody"


@dataclass(frozen=True)
class User:
    """A user by number."""

    uid: int
    gid: int


def user() -> User | None:
    """Return the user to run a server as, ``None`` where iobound isn't root; raises `LabError` where there is no such user."""
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam(NAME)
    except KeyError as error:
        raise LabError(
            f"a database server doesn't run as root, and there is no user {NAME!r} to run it as; "
            "run iobound as an ordinary user, or create that one"
        ) from error
    return User(entry.pw_uid, entry.pw_gid)


def reaches(who: User, path: Path) -> bool:
    """Tell whether the permission bits let `who` read `path` and enter every folder above it."""
    entries = [(path, 0o5 if path.is_dir() else 0o4), *((parent, 0o1) for parent in path.resolve().parents)]
    return all(_allowed(entry.stat(), who) & bits == bits for entry, bits in entries)


def _allowed(status: os.stat_result, who: User) -> int:
    """Return the three permission bits of inode(7) that hold for `who`."""
    if status.st_uid == who.uid:
        return status.st_mode >> 6 & 0o7
    return status.st_mode >> 3 & 0o7 if status.st_gid == who.gid else status.st_mode & 0o7
