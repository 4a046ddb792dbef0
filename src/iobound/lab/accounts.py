"""The accounts that transfers are made between: the table, and what is in it afterwards. Read directly, past any relay."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pymysql

from iobound.errors import LabError
from iobound.lab import urls

CONNECT_TIMEOUT_S = 5
TABLE = "CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL, version INTEGER NOT NULL)"


def make(url: str, balances: list[int]) -> None:
    """Make the table in the empty database of `url`, with an account for each of `balances`, numbered from 0."""
    with cursor_of(url, "make the accounts") as cursor:
        cursor.execute(TABLE)
        for number, balance in enumerate(balances):
            cursor.execute(f"INSERT INTO account VALUES ({number}, {balance}, 0)")


def balances(url: str) -> list[int]:
    """Return the balances, in the order of the accounts."""
    with cursor_of(url, "tell the balances") as cursor:
        cursor.execute("SELECT balance FROM account ORDER BY id")
        return [balance for (balance,) in cursor.fetchall()]


def knows_snapshot_isolation(url: str) -> bool:
    """Tell whether the MariaDB of `url` has a setting ``innodb_snapshot_isolation``."""
    with cursor_of(url, "tell its settings") as cursor:
        cursor.execute("SHOW VARIABLES LIKE 'innodb_snapshot_isolation'")
        return bool(cursor.fetchall())


def connect(url: str) -> Any:
    """Return a connection of Python's database interface; each statement commits by itself."""
    parts = urlsplit(url)
    match parts.scheme:
        case "postgresql":
            return psycopg.connect(url, autocommit=True, connect_timeout=CONNECT_TIMEOUT_S, application_name="iobound")
        case "mysql":
            return pymysql.connect(
                **urls.mysql_login(url),
                database=urls.database(url),
                autocommit=True,
                connect_timeout=CONNECT_TIMEOUT_S,
            )
    return sqlite3.connect("/" + urls.database(url), isolation_level=None)


@contextmanager
def cursor_of(url: str, what: str) -> Iterator[Any]:
    """Yield a cursor; what the database refuses is a `LabError` that says that it failed to do `what`."""
    try:
        with closing(connect(url)) as connection:
            yield connection.cursor()
    except (psycopg.Error, pymysql.MySQLError, sqlite3.Error) as error:
        raise LabError(f"the database at {urls.shown(url)} failed to {what}: {urls.hidden(error, url)}") from error
