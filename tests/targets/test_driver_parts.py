"""Every driver on its real service: what it sends and returns, its transactions, its socket and its labels."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import psycopg
import pymysql
import pytest
import redis

from iobound.errors import LabError
from iobound.lab import drivers, interpreters, scripts
from iobound.lab.drivers import Driver
from iobound.lab.environments import environment
from iobound.lab.laboratory import Laboratory

HERE = Path(__file__).parent
THINGS = [[1, "one", 1.5], [2, "zwölf % 'quoted'", -0.25], [3, "", 3e6]]
WIDE = ["id"] + [f"{kind}{number}" for kind in "isf" for number in range(10)]
WIDES = [[row, *range(10), *(f"text {number}" for number in range(10)), *(n / 4 for n in range(10))] for row in range(1, 6)]
TYPES = {"i": "INTEGER", "s": "VARCHAR(255)", "f": "FLOAT"}
TABLES = {
    "test_things": (["x INTEGER", "y VARCHAR(255)", "z FLOAT"], []),
    "test_points": (["x INTEGER PRIMARY KEY", "y VARCHAR(255)", "z FLOAT"], THINGS),
    "test_wide": (
        ["id INTEGER PRIMARY KEY", *(f"{name} {TYPES[name[0]]}" for name in WIDE[1:])],
        WIDES,
    ),
}
IN_PYTHON = {"aiomysql", "mysql-connector-pure", "pg8000", "psycopg-python", "pymysql", "redis-py", "redis-py-async"}
IN_PYTHON |= {"sqlalchemy-core-pymysql", "sqlalchemy-orm-pymysql", "aiosqlite"}
CAN_COPY = {"asyncpg", "psycopg", "psycopg-async", "psycopg-python", "psycopg2"}
CAN_PIPELINE = {"psycopg", "psycopg-async", "psycopg-binary-protocol", "psycopg-python"}
ONLY_AUTOCOMMIT = {"aiopg", "apsw", "asyncpg"}
OLD = ["psycopg2", "pymysql", "sqlite3"]
BLOCKING = [d for d in drivers.catalogue().values() if (d.calls, d.offers) == ("sync", "sql") and d.service != "sqlite"]
SLEEP, SLEEP_S = {"postgresql": "SELECT pg_sleep(0.2)", "mariadb": "SELECT sleep(0.2)"}, 0.2


@pytest.fixture(scope="module")
def laboratory() -> Iterator[Laboratory]:
    with Laboratory() as shared:
        yield shared


def prepared(driver: Driver, laboratory: Laboratory) -> str:
    """Return the URL of a fresh database with the tables."""
    try:
        url = laboratory.service(driver.service).scratch("drivers")
    except LabError as error:
        pytest.skip(str(error))
    if driver.service == "valkey":
        fill_valkey(url)
    else:
        fill(url)
    return url


def fill(url: str) -> None:
    with connected(url) as connection:
        cursor = connection.cursor()
        mark = "?" if url.startswith("sqlite") else "%s"
        for table, (columns, rows) in TABLES.items():
            cursor.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
            cursor.executemany(f"INSERT INTO {table} VALUES ({', '.join([mark] * len(columns))})", rows)
        connection.commit()


def connected(url: str) -> Any:
    at = urlsplit(url)
    if at.scheme == "sqlite":
        return sqlite3.connect(at.path)
    if at.scheme == "postgresql":
        return psycopg.connect(url)
    return pymysql.connect(
        host=at.hostname,
        port=at.port,
        user=unquote(at.username or ""),
        password=unquote(at.password or ""),
        database=at.path[1:],
        charset="utf8mb4",
    )


def fill_valkey(url: str) -> None:
    with redis.Redis.from_url(url) as client:
        for thing in THINGS:
            client.hset(f"iobound:test_points:{thing[0]}", mapping=dict(zip("xyz", thing, strict=True)))
        for wide in WIDES:
            client.hset(f"iobound:test_wide:{wide[0]}", mapping=dict(zip(WIDE, wide, strict=True)))


def used(driver: Driver, url: str, python: str | None = None) -> dict[str, Any]:
    """Return what the program says that uses all of a driver."""
    files = {"program.py": "driver_program.py", "awaiting.py": "driver_awaiting.py"}
    return said(driver, files, {"url": url, "calls": driver.calls, "things": THINGS, "wide": WIDE}, python)


def said(driver: Driver, files: dict[str, str], job: dict[str, Any], python: str | None = None) -> dict[str, Any]:
    """Return the line that a program prints which uses a driver."""
    beside = {name: HERE / path for name, path in files.items()} | {"driver.py": driver.path}
    with scripts.launch(driver.name, beside, environment(drivers.ENVIRONMENT, python), job) as script:
        [found] = script.lines(30)
        assert not script.output(), script.output()
    return found


def check(driver: Driver, url: str, found: dict[str, Any]) -> None:
    assert found["select"] == THINGS
    assert found["point"] == THINGS[1:2]
    assert sorted(found["wide"]) == WIDES
    tells_socket = driver.service != "sqlite" and driver.name != "mysql-connector-c"
    assert found["peer"] == (urlsplit(url).port if tells_socket else None)
    assert found["ran"]["implementation"] == ("Python" if driver.name in IN_PYTHON else "C")
    if driver.offers == "things":
        assert found["rolled back"] == 0
        return
    assert found["none"] == 0
    assert found["within"] == 10
    #                              3 rows, 5 more, 2 rolled back, 2 committed, one more
    assert found["others see"] == [3, 8, 8, 8, 8, 10, 11]
    assert found.get("copied") == (16 if driver.name in CAN_COPY else None)
    assert found.get("piped") == ({True: 19, False: 14}[driver.name in CAN_COPY] if driver.name in CAN_PIPELINE else None)
    assert found["ran"]["autocommit"] == "True"
    if driver.name in ONLY_AUTOCOMMIT:
        assert "no implicit transactions; begin and commit" in found["refused"]
    else:
        assert found["implicit"] == ["False", 0, 1]


@pytest.mark.parametrize("name", drivers.names())
def test_a_driver_does_what_it_is_asked(name, laboratory):
    driver = drivers.find(name)
    if missing := driver.unavailable():
        pytest.skip(missing)
    url = prepared(driver, laboratory)
    check(driver, url, used(driver, url))


@pytest.mark.parametrize("name", OLD)
@pytest.mark.parametrize("python", ["2.7", "{}.{}".format(*interpreters.oldest_python3().release)])
def test_a_driver_does_so_on_old_interpreters(name, python, laboratory):
    driver = drivers.find(name)
    if missing := driver.unavailable(python):
        pytest.skip(missing)
    url = prepared(driver, laboratory)
    found = used(driver, url, python)
    check(driver, url, found)


@pytest.mark.parametrize("name", [d.name for d in BLOCKING])
def test_what_gevent_drives_lets_others_run_while_it_waits(name, laboratory):
    driver = drivers.find(name)
    url = prepared(driver, laboratory)
    found = said(driver, {"program.py": "driver_overlap_program.py"}, {"url": url, "sleep": SLEEP[driver.service]})
    assert (found["seconds"] < 4 * SLEEP_S) == ("gevent" in driver.models)
