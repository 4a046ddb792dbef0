"""The tables that single statements are measured on, made in a database of ours on any service, and the rows in them.

``test_things`` is that of the published comparison of MySQL drivers. What the others are is said in
`targets/statements/phases.py`, whose programs get the rows from here.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from itertools import product

import psycopg
import pymysql
import redis

from iobound.errors import LabError
from iobound.lab import urls
from iobound.lab.service import Service

Row = list[int | str | float]

WIDE_ROWS = 100
THING = ["x", "y", "z"]
WIDE = ["id", *(f"{kind}{number}" for kind, number in product("isf", range(10)))]
TYPES = {"i": "INTEGER", "s": "VARCHAR(255)", "f": "FLOAT"}

CREATE = [
    "CREATE TABLE test_things (x INTEGER, y VARCHAR(255), z FLOAT)",
    "CREATE TABLE test_points (x INTEGER PRIMARY KEY, y VARCHAR(255), z FLOAT)",
    f"CREATE TABLE test_wide (id INTEGER PRIMARY KEY, {', '.join(f'{name} {TYPES[name[0]]}' for name in WIDE[1:])})",
]


def things(rows: int) -> list[Row]:
    """Return rows for ``test_things`` and ``test_points``, whose `z` a column of single precision holds exactly."""
    return [[x, f"thing {x} {'of many ' * (x % 5)}", x + 0.5] for x in range(1, rows + 1)]


def wides() -> list[Row]:
    """Return the rows of ``test_wide``."""
    return [
        [
            id_,
            *(id_ * 10 + number for number in range(10)),
            *(f"text {number} of row {id_}" for number in range(10)),
            *(id_ + number / 4 for number in range(10)),
        ]
        for id_ in range(1, WIDE_ROWS + 1)
    ]


def make(service: Service, purpose: str, there: list[Row], points: list[Row]) -> str:
    """Make the tables in an empty database for `purpose`; return its URL for targets. Raises `LabError`.

    `there` are the rows of ``test_things`` that needn't be inserted any more, `points` those of ``test_points``.
    """
    url = service.scratch(purpose)
    filled = {"test_things": there, "test_points": points, "test_wide": wides()}
    try:
        {"postgresql": _postgresql, "mariadb": _mariadb, "sqlite": _sqlite, "valkey": _valkey}[service.name](url, filled)
    except (psycopg.Error, pymysql.MySQLError, sqlite3.Error, redis.RedisError) as error:
        raise LabError(f"{service.name} failed to make the tables for {purpose}: {urls.hidden(error, url)}") from error
    return url


def _postgresql(url: str, filled: dict[str, list[Row]]) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for create in CREATE:
            connection.execute(create.encode())
        for table, rows in filled.items():
            with connection.cursor().copy(f"COPY {table} FROM STDIN".encode()) as copy:
                for row in rows:
                    copy.write_row(row)
            connection.execute(f"VACUUM (FREEZE, ANALYZE) {table}".encode())  # now, not while we measure


def _mariadb(url: str, filled: dict[str, list[Row]]) -> None:
    connection = pymysql.connect(
        **urls.mysql_login(url),
        database=urls.database(url),
        autocommit=True,
    )
    with closing(connection), connection.cursor() as cursor:
        for create in CREATE:
            cursor.execute(f"{create} ENGINE = InnoDB")
        for table, rows in filled.items():
            cursor.executemany(f"INSERT INTO {table} VALUES ({_marks('%s', table)})", rows)
            cursor.execute(f"ANALYZE TABLE {table}")


def _sqlite(url: str, filled: dict[str, list[Row]]) -> None:
    with closing(sqlite3.connect(f"/{urls.database(url)}")) as connection, connection:
        for create in CREATE:
            connection.execute(create)
        for table, rows in filled.items():
            connection.executemany(f"INSERT INTO {table} VALUES ({_marks('?', table)})", rows)


def _valkey(url: str, filled: dict[str, list[Row]]) -> None:
    with closing(redis.Redis.from_url(url.replace("valkey", "redis", 1))) as client, client.pipeline() as pipeline:
        for table, rows in filled.items():
            for row in rows:
                pairs = zip(_columns(table), row, strict=True)
                pipeline.hset(f"iobound:{table}:{row[0]}", items=[each for pair in pairs for each in pair])
        pipeline.execute()


def _columns(table: str) -> list[str]:
    return WIDE if table == "test_wide" else THING


def _marks(placeholder: str, table: str) -> str:
    return ", ".join([placeholder] * len(_columns(table)))
