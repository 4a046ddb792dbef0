"""PostgreSQL, explored through its protocol."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, cast
from urllib.parse import urlsplit

import psycopg
from psycopg import pq
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier, Literal

from iobound.errors import LabError, UsageError
from iobound.lab import urls
from iobound.race import connections
from iobound.race.databases import ROWS_OF_STATE, Upstream, scalar
from iobound.race.locks import postgresql as locks
from iobound.race.wire import Conversation as Conversing
from iobound.race.wire import Request, Startup
from iobound.race.wire.postgresql import Conversation
from iobound.records.race import FailureKind, State

DEADLOCK_TIMEOUT = "1ms"
DEADLOCK_S = 0.004  # in which a waiting session has looked for a deadlock, on a busy machine too
REPORTED = (
    *("server_version", "server_encoding", "client_encoding", "application_name", "is_superuser", "session_authorization"),
    *("DateStyle", "IntervalStyle", "TimeZone", "integer_datetimes", "standard_conforming_strings", "in_hot_standby"),
    *("default_transaction_read_only", "scram_iterations", "search_path"),
)
KINDS: dict[str, FailureKind] = {
    "40001": "serialization-failure",
    "40P01": "deadlock",
    "55P03": "lock-timeout",
    "57014": "lock-timeout",
    "25P04": "lock-timeout",
}
OURS = {"host", "port", "user", "password", "dbname", "sslmode", "gssencmode", "replication"}
TABLES = """
    SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind = 'r' AND c.relpersistence <> 't' AND left(n.nspname, 3) <> 'pg_' AND n.nspname <> 'information_schema'
    ORDER BY 1, 2
"""
COLUMNS = """
    SELECT quote_ident(attname) FROM pg_attribute
    WHERE attrelid = format('%%I.%%I', %s::text, %s::text)::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
    ORDER BY attnum
"""
SEQUENCES = "SELECT schemaname, sequencename, last_value FROM pg_sequences WHERE last_value IS NOT NULL ORDER BY 1, 2"
GENERATED = """
    SELECT c.relname, a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE c.relkind = 'r' AND a.attnum > 0
      AND (a.attidentity <> '' OR pg_get_expr(d.adbin, d.adrelid) LIKE 'nextval(%')
"""
REPLICA = "SET LOCAL session_replication_role = replica"  # no order among foreign keys, no triggers


class Database:
    """See `iobound.race.databases.Server`."""

    def __init__(self, url: str) -> None:
        self.name = "postgresql"
        self.isolations: Sequence[str] = ("read committed", "repeatable read", "serializable")
        self.url = url
        self._direct = connections.postgresql(url)
        self.version = str(self._direct.info.parameter_status("server_version"))
        self._waits_briefly = self._may_wait_briefly()
        self._copy = b""

    # --- direct -------------------------------------------------------------------------------------------------------

    def execute(self, sql: str, *parameters: Any) -> None:
        """Execute a statement."""
        self._direct.execute(sql, parameters or None)

    def rows(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        return self._direct.execute(sql, parameters or None).fetchall()

    def scalar(self, sql: str, *parameters: Any) -> Any:
        """Return the first column of the first row."""
        return scalar(self.rows(sql, *parameters))

    def isolation(self) -> str:
        """Return the default level."""
        return str(self.scalar("SHOW default_transaction_isolation"))

    def failure(self, code: str, message: str) -> FailureKind:
        """Return the class of an SQLSTATE."""
        return KINDS.get(code) or ("constraint-violation" if code.startswith("23") else "error")

    def state(self) -> State:
        """Read all tables of the database, each in one query."""
        found: State = {}
        for schema, table in self.rows(TABLES):
            query = SQL("SELECT t.* FROM {} AS t LIMIT {}").format(Identifier(schema, table), ROWS_OF_STATE)
            name = table if schema == "public" else f"{schema}.{table}"
            cursor = self._direct.execute(query)
            header = [column.name for column in cursor.description or ()]
            body = [[None if value is None else str(value) for value in row] for row in cursor.fetchall()]
            found[name] = [cast("list[str | None]", header), *sorted(body, key=repr)]
        return found

    def generated(self) -> dict[str, set[str]]:
        """Return the identity and serial columns."""
        found: dict[str, set[str]] = {}
        for table, column in self.rows(GENERATED):
            found.setdefault(table, set()).add(column)
        return found

    def keep(self) -> None:
        """Write down the script that makes all tables and sequences what they are now."""
        self._copy = ";\n".join(["BEGIN", REPLICA, *self._truncations(), *self._insertions(), "COMMIT"]).encode()

    def restore(self) -> None:
        """Carry that script out, in one round trip."""
        result = self._direct.pgconn.exec_(self._copy)
        if result.status != pq.ExecStatus.COMMAND_OK:
            raise LabError(f"the tables can't be restored: {result.error_message.decode(errors='replace').strip()}")

    def empty(self) -> None:
        """Truncate all tables in one statement, which needs no order among foreign keys."""
        for statement in self._truncations():
            self.execute(statement)

    def _truncations(self) -> list[str]:
        tables = ", ".join(Identifier(schema, table).as_string(self._direct) for schema, table in self.rows(TABLES))
        return [f"TRUNCATE {tables} RESTART IDENTITY CASCADE"] if tables else []

    def _insertions(self) -> Iterator[str]:
        for schema, table in self.rows(TABLES):
            name = Identifier(schema, table).as_string(self._direct)
            columns = [column for (column,) in self.rows(COLUMNS, schema, table)]
            literals = ", ".join(f"quote_nullable({column}::text)" for column in columns)
            for (values,) in self.rows(f"SELECT concat_ws(', ', {literals}) FROM {name}") if columns else []:
                yield f"INSERT INTO {name} ({', '.join(columns)}) OVERRIDING SYSTEM VALUE VALUES ({values})"
        for schema, sequence, value in self.rows(SEQUENCES):
            name = Literal(Identifier(schema, sequence).as_string(self._direct)).as_string(self._direct)
            yield f"SELECT setval({name}, {value})"

    def hasten(self) -> None:
        """On a server of ours, let nothing else happen meanwhile."""
        self.execute("ALTER SYSTEM SET autovacuum = off")
        self.execute("SELECT pg_reload_conf()")

    def close(self) -> None:
        """End the direct connection."""
        self._direct.close()

    @property
    def deadlock_s(self) -> float:
        """How long it takes until a waiting session has looked for a deadlock."""
        return DEADLOCK_S if self._waits_briefly else 0.0

    def _may_wait_briefly(self) -> bool:
        """Tell whether our user may lower the time after which the server looks for deadlocks."""
        with suppress(psycopg.Error):
            self._direct.execute(f"SET deadlock_timeout = '{DEADLOCK_TIMEOUT}'")
            return True
        return False

    # --- through the protocol -----------------------------------------------------------------------------------------

    def settings(self, host: str, port: int) -> dict[str, str]:
        """Return ``DATABASE_URL``, and what libpq reads."""
        parts = urlsplit(self.url)
        account = f"{parts.username or ''}:iobound"
        return {
            "DATABASE_URL": f"postgresql://{account}@{host}:{port}/{urls.database(self.url)}",
            "PGHOST": host,
            "PGPORT": str(port),
            "PGUSER": parts.username or "",
            "PGPASSWORD": "iobound",
            "PGDATABASE": urls.database(self.url),
            "PGSSLMODE": "disable",
            "PGGSSENCMODE": "disable",
        }

    def conversation(self) -> Conversation:
        """Return a new conversation."""
        return Conversation()

    def connect(self, startup: Startup, isolation: str | None) -> Upstream:
        """Let libpq open and authenticate a session, and take its socket over."""
        own = urlsplit(self.url).username
        if startup.user and own and startup.user != own:
            raise UsageError(
                f"the function connects as {startup.user!r}, not as {own!r} of the database's URL; read DATABASE_URL as it is"
            )
        options = [f"default_transaction_isolation={isolation}"] if isolation else []
        if self._waits_briefly:
            options.append(f"deadlock_timeout={DEADLOCK_TIMEOUT}")
        given = dict(startup.key)
        options += [f"{name}={value}" for name, value in startup.key if name not in (*OURS, "options", "client_encoding")]
        words = [*(f"-c {option.replace(' ', chr(92) + ' ')}" for option in options), given.get("options", "")]
        encoding = {"client_encoding": given["client_encoding"]} if "client_encoding" in given else {}
        conninfo = make_conninfo(
            self.url,
            dbname=startup.database or urls.database(self.url),
            options=" ".join(words).strip(),
            sslmode="disable",
            gssencmode="disable",
            connect_timeout=5,
            **encoding,
        )
        link = pq.PGconn.connect(conninfo.encode())
        if link.status != pq.ConnStatus.OK:
            raise LabError(
                f"can't connect to PostgreSQL at {urls.shown(self.url)}: {urls.hidden(link.error_message.decode(), self.url)}; "
                "iobound race needs a connection without TLS"
            )
        facts = {name: value.decode() for name in REPORTED if (value := link.parameter_status(name.encode())) is not None}
        taken = socket.socket(fileno=os.dup(link.socket))
        taken.setblocking(True)

        def close() -> None:
            taken.close()
            link.finish()

        return Upstream(taken, link.backend_pid, facts, close)

    def isolate(self, conversation: Conversing, isolation: str | None) -> Request:
        """Return the request that changes the level of a session."""
        level = f"'{isolation}'" if isolation else "DEFAULT"
        return conversation.query(f"SET default_transaction_isolation = {level}")

    def renewal(self, conversation: Conversing, isolation: str | None) -> list[Request]:
        """End a transaction and discard all; what a session was started with stays."""
        rollback = [conversation.query("ROLLBACK")] if conversation.in_transaction else []
        return [*rollback, conversation.query("DISCARD ALL")]

    def observe(self) -> locks.Observer:
        """Return an observer of lock waits."""
        return locks.Observer(self.url)

    def end(self, backend: int) -> None:
        """Terminate a backend."""
        with suppress(psycopg.Error):
            self._direct.execute("SELECT pg_terminate_backend(%s, 1000)", [backend])
