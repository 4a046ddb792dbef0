"""MariaDB: a private server from PATH; or MariaDB or MySQL given by URL. MySQL 8 by URL is untested.

Everything happens in databases of our own, named `PREFIX` and a random number and marked by a table `MARK_TABLE` with `MARK` as
its comment; on a server given by URL nothing else is touched. Our one connection holds a lock named after the run, which tells
`Service.clean` that the run lives.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from typing import Any, ClassVar, Literal

import pymysql
from pymysql.connections import Connection

from iobound import dataset
from iobound.errors import LabError, Unavailable
from iobound.lab import urls
from iobound.lab.processes import LOOPBACK, free_port, in_turn, spawn, wait_until
from iobound.lab.scratch import Scratch
from iobound.lab.service import Activity, Counters, Leftovers, ServiceOptions, median_us
from iobound.lab.unprivileged import user
from iobound.records import ServiceInfo

PREFIX = "iobound_"
MARK_TABLE = "iobound_mark"
MARK = "Made by iobound for a measurement; safe to drop with its database."
USER = "iobound"

CONNECT_TIMEOUT_S = 5
ANSWER_TIMEOUT_S = 10
LOCK_TIMEOUT_S = 5
START_TIMEOUT_S = 30.0
ROOM_MB = 300

SETTINGS = (
    "innodb_flush_log_at_trx_commit",
    "innodb_doublewrite",
    "innodb_buffer_pool_size",
    "log_bin",
    "max_connections",
    "transaction_isolation",
    "tx_isolation",
    "performance_schema",
    "query_cache_type",
    "thread_handling",
    "have_ssl",
)

VERBS = {
    "com_select": "select",
    "com_insert": "insert",
    "com_insert_select": "insert",
    "com_update": "update",
    "com_update_multi": "update",
    "com_delete": "delete",
    "com_delete_multi": "delete",
    "com_replace": "replace",
    "com_replace_select": "replace",
}
CONTROL = (
    *("com_begin", "com_commit", "com_rollback", "com_savepoint", "com_release_savepoint", "com_rollback_to_savepoint"),
    *("com_set_option", "com_change_db"),
    "com_admin_commands",  # pings and resets of connections
)
ROWS = ("rows_sent", "handler_write", "handler_update", "handler_delete")


class Service:
    """A running MariaDB or MySQL; see `iobound.lab.service.Service`."""

    name: ClassVar[str] = "mariadb"
    kind: ClassVar[Literal["sql", "cache"]] = "sql"
    sleeps: ClassVar[bool] = True
    flag: ClassVar[str | None] = "mysql"

    def __init__(self, url: str, source: str, pids: list[int] | None, exits: ExitStack) -> None:
        self._url = url
        self._source = source
        self._pids = pids
        self._token = PREFIX + secrets.token_hex(6)
        self._datasets: dict[int, str] = {}
        self._connection = exits.enter_context(closing(_connect(url)))
        self._one_at_a_time = threading.Lock()  # PyMySQL's connections aren't for several threads
        if source == "url":
            exits.callback(self._drop)
        self._query("lock our name", "SELECT GET_LOCK(%s, 0)", self._token)
        [[self._version]] = self._query("tell its version", "SELECT version()")
        self._status = "information_schema" if "MariaDB" in self._version else "performance_schema"
        self._exits = exits.pop_all()  # from here on it's ours to close

    @classmethod
    def start(cls, options: ServiceOptions) -> Service:
        """Start a private server, or connect to `options.url`."""
        with ExitStack() as exits:
            if options.url:
                return cls(options.url, "url", None, exits)
            url, pid = _start_private(options, exits)
            return cls(url, "PATH", [pid], exits)

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
        """Drop the marked databases of runs that no longer hold their lock."""
        found: dict[bool, list[str]] = {True: [], False: []}
        with closing(_connect(url)) as connection, _explaining(url, "drop databases"), connection.cursor() as cursor:
            cursor.execute(
                "SELECT table_schema FROM information_schema.tables WHERE table_name = %s AND table_comment = %s ORDER BY 1",
                (MARK_TABLE, MARK),
            )
            for name in [name for (name,) in cursor.fetchall() if name.startswith(PREFIX)]:
                cursor.execute("SELECT IS_USED_LOCK(%s) IS NOT NULL", (PREFIX + name.split("_")[1],))
                in_use = cursor.fetchall() == ((1,),)
                if not in_use:
                    cursor.execute(f"DROP DATABASE {_identifier(name)}")
                found[in_use].append(name)
        return Leftovers(dropped=found[False], in_use=found[True])

    def info(self) -> ServiceInfo:
        """Version, source and settings as the server reports them."""
        rows = self._query("tell its settings", "SHOW GLOBAL VARIABLES WHERE variable_name IN %s", SETTINGS)
        ping = median_us(lambda: self._query("answer a ping", "SELECT 1"))
        return ServiceInfo(name=self.name, version=self._version, source=self._source, settings=dict(rows), ping_us=ping)

    def pids(self) -> list[int] | None:
        """The server, which is one process."""
        return self._pids

    def dataset(self, rows: int) -> str:
        """Make a database with `rows` items where it isn't there yet; return its URL."""
        if rows not in self._datasets:
            url = self.scratch(str(rows))
            database = _identifier(urls.database(url))
            what = f"make a database of {rows} rows"
            columns = "name VARCHAR(64) NOT NULL, quantity INTEGER NOT NULL"
            self._query(what, f"CREATE TABLE {database}.item (id INTEGER PRIMARY KEY, {columns}) ENGINE = InnoDB")
            self._query(
                what, f"CREATE TABLE {database}.entry (id INTEGER AUTO_INCREMENT PRIMARY KEY, {columns}) ENGINE = InnoDB"
            )
            values = [(item["id"], item["name"], item["quantity"]) for item in dataset.items(rows)]
            if values:
                self._query(what, f"INSERT INTO {database}.item VALUES " + ", ".join(["%s"] * rows), *values)
            self._query(what, f"ANALYZE TABLE {database}.item")
            self._datasets[rows] = url
        return self._datasets[rows]

    def scratch(self, purpose: str) -> str:
        """Make a database that is empty but for our mark, in place of the last one for `purpose`; return its URL."""
        name = f"{self._token}_{purpose}"
        database = _identifier(name)
        what = "make a database"
        self._query(what, f"DROP DATABASE IF EXISTS {database}")
        self._query(what, f"CREATE DATABASE {database} CHARACTER SET utf8mb4")
        self._query(what, f"CREATE TABLE {database}.{MARK_TABLE} (id INT PRIMARY KEY) COMMENT = %s", MARK)
        return urls.with_database(self._url, name)

    def empty_entries(self, url: str) -> None:
        """Remove all rows that targets inserted; raises `LabError` where a target keeps them locked for 5 s."""
        self._query("empty the table entry", f"TRUNCATE TABLE {_identifier(urls.database(url))}.entry")

    def count_entries(self, url: str) -> int:
        """Count the rows that targets inserted."""
        [[count]] = self._query("count the table entry", f"SELECT count(*) FROM {_identifier(urls.database(url))}.entry")
        return int(count)

    def counters(self, url: str) -> Counters | None:
        """Return what the server counted for all sessions but ours. It counts for all databases together.

        `rows` are rows sent and changed; MySQL doesn't count those sent. Neither tells how long statements took.
        """
        counts = {
            name.lower(): int(value)
            for name, value in self._query(
                "tell its counters",
                "SELECT variable_name, cast(everyone.variable_value AS signed) - cast(ours.variable_value AS signed)"
                f" FROM {self._status}.global_status AS everyone JOIN {self._status}.session_status AS ours"
                " USING (variable_name)"
                " WHERE variable_name IN %s",
                (*VERBS, *CONTROL, *ROWS),
            )
        }
        statements: Counter[str] = Counter()
        for name, verb in VERBS.items():
            statements[verb] += counts.get(name, 0)
        return Counters(
            statements={verb: count for verb, count in statements.items() if count},
            transaction_control=sum(counts.get(name, 0) for name in CONTROL),
            rows=sum(counts.get(name, 0) for name in ROWS),
        )

    def uncounted(self) -> nullcontext[None]:
        """Change nothing: the server counts all the same."""
        return nullcontext()

    def activity(self, url: str) -> Activity | None:
        """Count the sessions in the database of `url`; those that wait for a row's lock, in all databases together."""
        # Not innodb_trx, which isn't brought up to date for readers who look again within 0.1 s.
        [[sessions, active, waiting]] = self._query(
            "tell its sessions",
            "SELECT count(*), coalesce(sum(command <> 'Sleep'), 0), coalesce(sum(state LIKE 'Waiting for %% lock'), 0)"
            f" + (SELECT variable_value FROM {self._status}.global_status WHERE variable_name = %s)"
            " FROM information_schema.processlist WHERE db = %s",
            "innodb_row_lock_current_waits",
            urls.database(url),
        )
        return Activity(sessions=sessions, active=int(active), lock_waits=int(waiting))

    def close(self) -> None:
        """Drop what was created and stop what was started."""
        self._exits.close()

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _query(self, what: str, query: str, *parameters: object) -> list[tuple[Any, ...]]:
        with self._one_at_a_time, _explaining(self._url, what), self._connection.cursor() as cursor:
            cursor.execute(query, parameters)
            return list(cursor.fetchall())

    def _drop(self) -> None:
        what = "drop our databases"
        ours = self._query(
            what,
            "SELECT schema_name FROM information_schema.schemata WHERE left(schema_name, %s) = %s",
            len(self._token),
            self._token,
        )
        for (name,) in ours:
            self._query(what, f"DROP DATABASE {_identifier(name)}")


def _connect(url: str) -> Connection[Any]:
    """Connect with limits on waiting."""
    try:
        return pymysql.connect(
            **urls.mysql_login(url),
            autocommit=True,
            charset="utf8mb4",
            connect_timeout=CONNECT_TIMEOUT_S,
            read_timeout=ANSWER_TIMEOUT_S,
            init_command=f"SET lock_wait_timeout = {LOCK_TIMEOUT_S}, innodb_lock_wait_timeout = {LOCK_TIMEOUT_S}",
        )
    except (pymysql.MySQLError, ValueError, RuntimeError) as error:
        raise LabError(
            f"can't connect to MariaDB at {urls.shown(url)}: {urls.hidden(error, url)}; "
            "check that it runs there, and the URL's host, port, user and password"
        ) from error


@contextmanager
def _explaining(url: str, what: str) -> Iterator[None]:
    try:
        yield
    except pymysql.MySQLError as error:
        raise LabError(f"MariaDB at {urls.shown(url)} failed to {what}: {urls.hidden(error, url)}") from error


def _identifier(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


# --- a private server -----------------------------------------------------------------------------------------------


def _find_binaries() -> tuple[str, str]:
    """Return the programs that make a data directory and that serve it; raises `Unavailable`."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin"])
    install = shutil.which("mariadb-install-db", path=path) or shutil.which("mysql_install_db", path=path)
    server = shutil.which("mariadbd", path=path) or shutil.which("mysqld", path=path)
    if install and server:
        return install, server
    raise Unavailable(
        "MariaDB isn't there: no mariadbd (mysqld) with mariadb-install-db (mysql_install_db) on PATH or in /usr/sbin; "
        "install it with: apt-get install mariadb-server, or give a server of MariaDB or MySQL with --mysql URL"
    )


def _start_private(options: ServiceOptions, exits: ExitStack) -> tuple[str, int]:
    """Start a server of our own; return its URL and its process."""
    install, server = _find_binaries()
    who = user()
    scratch = exits.enter_context(Scratch("mariadb", owner=who, needs_mb=ROOM_MB))
    data = scratch.folder("data")
    password, port = secrets.token_hex(16), free_port()
    account = f"'{USER}'@'{LOOPBACK}'"
    users = f"CREATE USER {account} IDENTIFIED BY '{password}';\nGRANT ALL ON *.* TO {account} WITH GRANT OPTION;\n"
    settings = {
        "datadir": data,
        "tmpdir": data,
        "pid-file": data / "pid",
        "socket": "",
        "bind-address": LOOPBACK,
        "port": port,
        "skip-name-resolve": 1,
        "init-file": scratch.file("users.sql", users),
        "max_connections": options.max_connections,
        "back_log": options.max_connections,
        "character-set-server": "utf8mb4",
        "log_warnings": 1,  # not every aborted connection, for the log is kept in memory
        "innodb_buffer_pool_size": "128M",
        "innodb_flush_log_at_trx_commit": int(options.durable),
        "innodb_doublewrite": int(options.durable),
        "innodb_status_output_locks": 1,  # the monitor then says who holds the lock that another waits for
    }
    text = "[mysqld]\n" + "".join(f"{name} = {value}\n" for name, value in settings.items())
    defaults = f"--defaults-file={scratch.file('my.cnf', text)}"
    process = exits.enter_context(
        spawn(
            in_turn([install, defaults, "--skip-test-db"], [server, defaults]),
            env={"PATH": os.defpath, "LC_ALL": "C"},
            cwd=scratch.path,
            cpus=options.cpus,
            user=who,
            stop_signal=signal.SIGKILL,  # the data goes with it
            remove=[scratch.path],
        )
    )
    url = f"mysql://{USER}:{password}@{LOOPBACK}:{port}/"
    try:
        wait_until(lambda: _answers(url), "it answered", process, START_TIMEOUT_S)
    except LabError as error:
        raise LabError(f"MariaDB ({server}) didn't start on port {port}: {error}") from error
    return url, process.pid


def _answers(url: str) -> bool:
    """Tell whether the server at `url` lets us in; another one that has the port doesn't know our password."""
    with suppress(LabError):
        _connect(url).close()
        return True
    return False
