"""Every driver on its real service: what it sends and returns, its transactions, its socket and its labels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from iobound.errors import Unavailable
from iobound.lab import drivers, interpreters, scripts, things
from iobound.lab.drivers import Driver
from iobound.lab.environments import environment
from iobound.lab.laboratory import Laboratory

HERE = Path(__file__).parent
THINGS = [[1, "one", 1.5], [2, "zwölf % 'quoted'", -0.25], [3, "", 3e6]]
THERE = [[9, "there before", 0.5]]
IN_PYTHON = {"aiomysql", "mysql-connector-pure", "pg8000", "psycopg-python", "pymysql", "redis-py", "redis-py-async"}
IN_PYTHON |= {"sqlalchemy-core-pymysql", "sqlalchemy-orm-pymysql", "aiosqlite"}
CAN_COPY = {"asyncpg", "psycopg", "psycopg-async", "psycopg-python", "psycopg2"}
CAN_PIPELINE = {"psycopg", "psycopg-async", "psycopg-binary-protocol", "psycopg-python"}
ONLY_AUTOCOMMIT = {"aiopg", "apsw", "asyncpg"}
LABELS = {
    "psycopg": {"protocol": "text"},
    "psycopg-binary-protocol": {"protocol": "binary"},
    "redis-py": {"parser": "_RESP3Parser", "packer": "PythonRespSerializer"},
    "redis-py-hiredis": {"parser": "_HiredisParser", "packer": "HiredisRespSerializer"},
    "redis-py-async": {"parser": "_AsyncRESP3Parser"},
}
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
        return things.make(laboratory.service(driver.service), "drivers", THERE if driver.offers == "things" else [], THINGS)
    except Unavailable as error:
        pytest.skip(str(error))


def used(driver: Driver, url: str, python: str | None = None) -> dict[str, Any]:
    """Return what the program says that uses all of a driver."""
    files = {"program.py": "driver_program.py", "awaiting.py": "driver_awaiting.py"}
    return said(driver, files, {"url": url, "calls": driver.calls, "things": THINGS, "wide": things.WIDE}, python)


def said(driver: Driver, files: dict[str, str], job: dict[str, Any], python: str | None = None) -> dict[str, Any]:
    """Return the line that a program prints which uses a driver."""
    beside = {name: HERE / path for name, path in files.items()} | {"driver.py": driver.path}
    with scripts.launch(driver.name, beside, environment(drivers.ENVIRONMENT, python), job) as script:
        [found] = script.lines(30)
        assert not script.output(), script.output()
    return found


def check(driver: Driver, url: str, found: dict[str, Any]) -> None:
    assert sorted(found["select"]) == (THINGS + THERE if driver.offers == "things" else THINGS)
    assert found["point"] == THINGS[1:2]
    assert sorted(found["wide"]) == things.wides()
    tells_socket = driver.service != "sqlite" and driver.name != "mysql-connector-c"
    assert found["peer"] == (urlsplit(url).port if tells_socket else None)
    assert found["ran"]["implementation"] == ("Python" if driver.name in IN_PYTHON else "C")
    assert found["ran"].items() >= LABELS.get(driver.name, {}).items()
    if driver.offers == "things":
        assert found["rolled back"] == len(THERE)
        return
    assert found["none"] == 0
    assert found["within"] == 10
    #                              3 rows, 5 more, 2 rolled back, 2 committed, one more
    assert found["others see"] == [3, 8, 8, 8, 8, 10, 11]
    assert found.get("copied") == (16 if driver.name in CAN_COPY else None)
    assert found.get("piped") == (found.get("copied", 11) + 3 if driver.name in CAN_PIPELINE else None)
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
