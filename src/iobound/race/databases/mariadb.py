"""MariaDB and MySQL, explored through their protocol."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, cast
from urllib.parse import unquote, urlsplit

import pymysql
from pymysql.charset import charset_by_id
from pymysql.connections import Connection
from pymysql.constants import CLIENT

from iobound.errors import LabError, UsageError
from iobound.lab import urls
from iobound.lab.services.mariadb import MARK_TABLE
from iobound.race import connections, locks
from iobound.race.databases import ROWS_OF_STATE, Upstream, scalar
from iobound.race.locks import Observer
from iobound.race.wire import Conversation as Conversing
from iobound.race.wire import Request, Startup
from iobound.race.wire.mysql import Conversation
from iobound.records.race import FailureKind, State

LOCK_WAIT_S = 50
"""The time-out of lock waits; longer than a schedule lasts, so that none ends one."""
KINDS: dict[int, FailureKind] = {
    1020: "snapshot-conflict",  # with SQLSTATE HY000
    1213: "deadlock",
    1205: "lock-timeout",
    3058: "deadlock",  # of user-level locks
    3572: "lock-timeout",  # NOWAIT
    **dict.fromkeys((1022, 1048, 1062, 1169, 1216, 1217, 1451, 1452, 1557, 1586, 3819, 4025), "constraint-violation"),
}
TABLES = f"""
    SELECT table_name FROM information_schema.tables
    WHERE table_schema = database() AND table_type = 'BASE TABLE' AND table_name <> '{MARK_TABLE}' ORDER BY 1
"""
GENERATED = """
    SELECT table_name, column_name FROM information_schema.columns
    WHERE table_schema = database() AND extra LIKE '%auto_increment%'
"""
COLUMNS = """
    SELECT column_name FROM information_schema.columns WHERE table_schema = database() AND table_name = %s
    AND extra NOT LIKE '%%GENERATED%%' OR table_schema = database() AND table_name = %s AND extra = 'DEFAULT_GENERATED'
    ORDER BY ordinal_position
"""


class Database:
    """See `iobound.race.databases.Server`."""

    deadlock_s = 0.0  # InnoDB looks when a wait begins

    def __init__(self, url: str) -> None:
        self.name = "mariadb"
        self.isolations: Sequence[str] = ("read uncommitted", "read committed", "repeatable read", "serializable")
        self.url = url
        self._direct = _connected(url, client_flag=CLIENT.MULTI_STATEMENTS)
        self.version = str(self.scalar("SELECT version()"))
        self._level = "tx_isolation" if "MariaDB" in self.version else "transaction_isolation"
        self._copy = ""

    # --- direct -------------------------------------------------------------------------------------------------------

    def execute(self, sql: str, *parameters: Any) -> None:
        """Execute a statement, or several."""
        with self._direct.cursor() as cursor:
            cursor.execute(sql, parameters or None)
            while cursor.nextset():
                pass

    def rows(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        with self._direct.cursor() as cursor:
            cursor.execute(sql, parameters or None)
            return list(cursor.fetchall())

    def scalar(self, sql: str, *parameters: Any) -> Any:
        """Return the first column of the first row."""
        return scalar(self.rows(sql, *parameters))

    def isolation(self) -> str:
        """Return the default level."""
        return str(self.scalar(f"SELECT @@GLOBAL.{self._level}")).lower().replace("-", " ")

    def failure(self, code: str, message: str) -> FailureKind:
        """Return the class of an error number."""
        return KINDS.get(int(code) if code.isdigit() else 0, "error")

    def state(self) -> State:
        """Read all tables."""
        found: State = {}
        for (table,) in self.rows(TABLES):
            with self._direct.cursor() as cursor:
                cursor.execute(f"SELECT * FROM {_name(table)} LIMIT {ROWS_OF_STATE}")
                body = [[None if value is None else str(value) for value in row] for row in cursor.fetchall()]
                header = [column[0] for column in cursor.description or ()]
            found[table] = [cast("list[str | None]", header), *sorted(body, key=repr)]
        return found

    def generated(self) -> dict[str, set[str]]:
        """Return the AUTO_INCREMENT columns."""
        found: dict[str, set[str]] = {}
        for table, column in self.rows(GENERATED):
            found.setdefault(table, set()).add(column)
        return found

    def keep(self) -> None:
        """Write down the script that makes all tables what they are now."""
        unchecked = "SET foreign_key_checks = 0"
        self._copy = ";\n".join([unchecked, *self._truncations(), *self._insertions(), "SET foreign_key_checks = 1"])

    def restore(self) -> None:
        """Carry that script out, in one round trip."""
        self.execute(self._copy)

    def empty(self) -> None:
        """Truncate all tables."""
        self.execute(";".join(["SET foreign_key_checks = 0", *self._truncations(), "SET foreign_key_checks = 1"]))

    def _truncations(self) -> list[str]:
        return [f"TRUNCATE TABLE {_name(table)}" for (table,) in self.rows(TABLES)]

    def _insertions(self) -> Iterator[str]:
        for (table,) in self.rows(TABLES):
            columns = ", ".join(_name(column) for (column,) in self.rows(COLUMNS, table, table))
            for row in self.rows(f"SELECT {columns} FROM {_name(table)}") if columns else []:
                with self._direct.cursor() as cursor:
                    values = cursor.mogrify(", ".join(["%s"] * len(row)), row)
                yield f"INSERT INTO {_name(table)} ({columns}) VALUES ({values})"

    def hasten(self) -> None:
        """On a server of ours, let tables to come be truncated without a file being made."""
        self.execute("SET GLOBAL innodb_file_per_table = 0")

    def close(self) -> None:
        """End the direct connection."""
        if self._direct.open:
            self._direct.close()

    # --- through the protocol -----------------------------------------------------------------------------------------

    def settings(self, host: str, port: int) -> dict[str, str]:
        """Return ``DATABASE_URL``."""
        user = urlsplit(self.url).username or ""
        return {"DATABASE_URL": f"mysql://{user}:iobound@{host}:{port}/{urls.database(self.url)}"}

    def conversation(self) -> Conversation:
        """Return a new conversation."""
        return Conversation(self.version)

    def connect(self, startup: Startup, isolation: str | None) -> Upstream:
        """Let PyMySQL open and authenticate a session, and take its socket over."""
        own = unquote(urlsplit(self.url).username or "")
        if startup.user != own:
            raise UsageError(
                f"the function connects as {startup.user!r}, not as {own!r} of the database's URL; read DATABASE_URL as it is"
            )
        given = dict(startup.key)
        link = _connected(
            self.url,
            client_flag=int(given["flags"]),
            charset=_charset(int(given["charset"])),
            database=startup.database or None,
        )
        with link.cursor() as cursor:
            cursor.execute(self._beginning(isolation))
        inside: Any = link
        taken: socket.socket = inside._sock
        taken.settimeout(None)
        return Upstream(taken, inside.thread_id(), {}, inside._force_close)

    def isolate(self, conversation: Conversing, isolation: str | None) -> Request:
        """Return the request that changes the level of a session."""
        return conversation.query(self._beginning(isolation))

    def renewal(self, conversation: Conversing, isolation: str | None) -> list[Request]:
        """Reset the session, which rolls back, and set again what it began with."""
        assert isinstance(conversation, Conversation)
        return [conversation.reset(), conversation.query(self._beginning(isolation))]

    def observe(self) -> Observer:
        """Return an observer of lock waits."""
        return locks.observe(self.url)

    def _beginning(self, isolation: str | None) -> str:
        """Return the statement that a session begins with: its level, and to wait for locks longer than a schedule lasts."""
        level = f"'{isolation.upper().replace(' ', '-')}'" if isolation else f"@@GLOBAL.{self._level}"
        return f"SET SESSION innodb_lock_wait_timeout = {LOCK_WAIT_S}, SESSION {self._level} = {level}"

    def end(self, backend: int) -> None:
        """Kill a session, and wait until it is gone."""
        with suppress(pymysql.MySQLError):
            self.execute(f"KILL {backend}")
            while self.rows("SELECT 1 FROM information_schema.processlist WHERE id = %s", backend):
                pass


def _connected(url: str, *, client_flag: int, charset: str = "utf8mb4", database: str | None = "") -> Connection[Any]:
    try:
        return pymysql.connect(
            **urls.mysql_login(url),
            database=(urls.database(url) or None) if database == "" else database,
            charset=charset,
            client_flag=client_flag,
            autocommit=client_flag == CLIENT.MULTI_STATEMENTS or None,
            connect_timeout=connections.CONNECT_TIMEOUT_S,
        )
    except (pymysql.MySQLError, ValueError, RuntimeError) as error:
        raise LabError(
            f"can't connect to MariaDB or MySQL at {urls.shown(url)}: {urls.hidden(error, url)}; "
            "check that it runs there, and the URL's host, port, user and password"
        ) from error


def _charset(number: int) -> str:
    try:
        charset: Any = charset_by_id(number)
        return str(charset.name)
    except KeyError:
        return "utf8mb4"


def _name(text: str) -> str:
    return "`" + text.replace("`", "``") + "`"
