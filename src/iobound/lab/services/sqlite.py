"""SQLite: database files in a temporary folder, in write-ahead-log mode. There is no server, so nothing to count or to watch.

Durability is each connection's own (``PRAGMA synchronous``), not the file's: it is the target's to set and to tell.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext
from pathlib import Path
from typing import ClassVar, Literal

from iobound import dataset
from iobound.errors import LabError, UsageError
from iobound.lab import urls
from iobound.lab.processes import spawn
from iobound.lab.scratch import Scratch
from iobound.lab.service import Activity, Counters, Leftovers, ServiceOptions, median_us
from iobound.records import ServiceInfo

SETTINGS = ("journal_mode", "page_size", "wal_autocheckpoint")
ROOM_MB = 20
LOCK_TIMEOUT_S = 5.0


class Service:
    """A folder of SQLite databases; see `iobound.lab.service.Service`."""

    name: ClassVar[str] = "sqlite"
    kind: ClassVar[Literal["sql", "cache"]] = "sql"
    sleeps: ClassVar[bool] = False
    flag: ClassVar[str | None] = None

    def __init__(self, folder: Path, exits: ExitStack) -> None:
        self._folder = folder
        self._exits = exits

    @classmethod
    def start(cls, options: ServiceOptions) -> Service:
        """Make the folder."""
        if options.url:
            raise UsageError("sqlite takes no URL: its databases are files that iobound makes")
        with ExitStack() as exits:
            scratch = exits.enter_context(Scratch(cls.name, needs_mb=ROOM_MB))
            # There is no server to guard, but the folder must go too when iobound is killed.
            command, environment = ["sleep", "infinity"], {"PATH": os.defpath}
            exits.enter_context(spawn(command, env=environment, cwd=scratch.path, remove=[scratch.path]))
            return cls(scratch.path, exits.pop_all())

    @classmethod
    def unavailable(cls) -> str | None:
        """Return ``None``: SQLite comes with Python."""
        return None

    @classmethod
    def clean(cls, url: str) -> Leftovers:
        """Do nothing: there is no server, and folders are swept by `iobound.lab.scratch.sweep`."""
        return Leftovers(dropped=[], in_use=[])

    def info(self) -> ServiceInfo:
        """Version and settings of a database of ours, by the SQLite of the Python that runs iobound."""
        with _connected(self.dataset(0)) as connection:
            settings = {name: str(connection.execute(f"PRAGMA {name}").fetchone()[0]) for name in SETTINGS}
            ping = median_us(lambda: connection.execute("SELECT 1").fetchone())
        return ServiceInfo(name=self.name, version=sqlite3.sqlite_version, source="python", settings=settings, ping_us=ping)

    def pids(self) -> list[int]:
        """Return none: the work is done in the targets."""
        return []

    def dataset(self, rows: int) -> str:
        """Make a database with `rows` items where it isn't there yet; return its URL."""
        path = self._folder / f"items-{rows}.db"
        url = f"sqlite:///{path}"
        if not path.exists():
            self._create(path)
            with _connected(url) as connection:
                connection.executescript(
                    "CREATE TABLE item (id INTEGER PRIMARY KEY, name VARCHAR(64) NOT NULL, quantity INTEGER NOT NULL);"
                    "CREATE TABLE entry (id INTEGER PRIMARY KEY AUTOINCREMENT,"
                    " name VARCHAR(64) NOT NULL, quantity INTEGER NOT NULL);"
                )
                connection.executemany("INSERT INTO item VALUES (:id, :name, :quantity)", dataset.items(rows))
                connection.commit()
                connection.execute("ANALYZE")
        return url

    def scratch(self, purpose: str) -> str:
        """Make an empty database, in place of the last one for `purpose`; return its URL."""
        path = self._folder / f"{purpose}.db"
        for old in self._folder.glob(f"{path.name}*"):  # and its log and shared memory
            old.unlink()
        return self._create(path)

    def _create(self, path: Path) -> str:
        url = f"sqlite:///{path}"
        with _connected(url) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
        return url

    def empty_entries(self, url: str) -> None:
        """Remove all rows that targets inserted; raises `LabError` where a target keeps them locked for 5 s."""
        with _connected(url) as connection:
            connection.execute("DELETE FROM entry")
            connection.commit()

    def count_entries(self, url: str) -> int:
        """Count the rows that targets inserted."""
        with _connected(url) as connection:
            return int(connection.execute("SELECT count(*) FROM entry").fetchone()[0])

    def counters(self, url: str) -> Counters | None:
        """Return ``None``: SQLite doesn't count."""
        return None

    def uncounted(self) -> nullcontext[None]:
        """Change nothing: the server counts all the same."""
        return nullcontext()

    def activity(self, url: str) -> Activity | None:
        """Return ``None``: there are no sessions."""
        return None

    def close(self) -> None:
        """Remove the folder."""
        self._exits.close()

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


@contextmanager
def _connected(url: str) -> Iterator[sqlite3.Connection]:
    path = Path("/", urls.database(url))
    try:
        with closing(sqlite3.connect(path, timeout=LOCK_TIMEOUT_S)) as connection:
            yield connection
    except sqlite3.Error as error:
        raise LabError(f"SQLite failed on {path}: {error}; the disk may be full, or a target may hold it locked") from error
