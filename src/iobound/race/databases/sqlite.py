"""A SQLite database file."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from iobound.errors import LabError
from iobound.lab import urls
from iobound.race.databases import ROWS_OF_STATE, scalar
from iobound.records.race import FailureKind, State

TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY 1"
PATIENCE_S = 5.0


class Database:
    """See `iobound.race.databases.Database`. There is no server: statements are held in this process."""

    def __init__(self, url: str) -> None:
        self.name = "sqlite"
        self.isolations: Sequence[str] = ()
        self.url = url
        self.version = sqlite3.sqlite_version
        self.path = Path("/", urls.database(url))
        try:
            self._direct = sqlite3.connect(self.path, timeout=PATIENCE_S, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as error:
            raise LabError(f"can't open {self.path}: {error}; write sqlite:////PATH/TO/FILE") from error
        self._copy = ""

    def execute(self, sql: str, *parameters: Any) -> None:
        """Execute a statement; without parameters also several."""
        if parameters:
            self._direct.execute(sql, parameters)
        else:
            self._direct.executescript(sql)

    def rows(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        return self._direct.execute(sql, parameters).fetchall()

    def scalar(self, sql: str, *parameters: Any) -> Any:
        """Return the first column of the first row."""
        return scalar(self.rows(sql, *parameters))

    def isolation(self) -> str:
        """Return the name of what SQLite does: readers have a snapshot and lock nothing."""
        return "snapshot"

    def failure(self, code: str, message: str) -> FailureKind:
        """Return the class of an error by SQLite's name for it."""
        if code == "SQLITE_BUSY_SNAPSHOT":
            return "snapshot-conflict"
        if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return "lock-timeout"
        return "constraint-violation" if code.startswith("SQLITE_CONSTRAINT") else "error"

    def state(self) -> State:
        """Read all tables."""
        found: State = {}
        for (table,) in self.rows(TABLES):
            cursor = self._direct.execute(f"SELECT * FROM {_name(table)} LIMIT {ROWS_OF_STATE}")
            body = [[None if value is None else str(value) for value in row] for row in cursor.fetchall()]
            header = [column[0] for column in cursor.description]
            found[table] = [cast("list[str | None]", header), *sorted(body, key=repr)]
        return found

    def generated(self) -> dict[str, set[str]]:
        """Return the columns that stand for the row's number."""
        found = {}
        for (table,) in self.rows(TABLES):
            keys = [row for row in self.rows(f"PRAGMA table_info({_name(table)})") if row[5]]
            if len(keys) == 1 and str(keys[0][2]).upper() == "INTEGER":
                found[table] = {str(keys[0][1])}
        return found

    def keep(self) -> None:
        """Write down the script that makes all tables what they are now."""
        script = ["BEGIN IMMEDIATE", *self._deletions()]
        for (table,) in self.rows(TABLES):
            columns = [str(row[1]) for row in self.rows(f"PRAGMA table_info({_name(table)})")]
            quoted = " || ', ' || ".join(f"quote({_name(column)})" for column in columns)
            for (values,) in self.rows(f"SELECT {quoted} FROM {_name(table)}"):
                script.append(f"INSERT INTO {_name(table)} ({', '.join(map(_name, columns))}) VALUES ({values})")
        self._copy = ";\n".join([*script, "COMMIT"])

    def restore(self) -> None:
        """Carry that script out."""
        self.execute(self._copy)

    def empty(self) -> None:
        """Delete all rows, which SQLite keeps nothing of."""
        self.execute(";".join(["BEGIN IMMEDIATE", *self._deletions(), "COMMIT"]))

    def hasten(self) -> None:
        """Wait for no disk, and let readers and a writer go on side by side, as most programs have it."""
        self.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF")

    def close(self) -> None:
        """Close the file."""
        self._direct.close()

    def _deletions(self) -> list[str]:
        tables = [table for (table,) in self.rows(TABLES)]
        counters = (
            ["DELETE FROM sqlite_sequence"] if self.rows("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_sequence'") else []
        )
        return [*(f"DELETE FROM {_name(table)}" for table in tables), *counters]


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
