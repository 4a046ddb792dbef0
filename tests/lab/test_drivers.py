"""Which drivers there are, what their files say of them, and what their locks hold."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from iobound.errors import UsageError
from iobound.lab import drivers, interpreters, loaders
from iobound.lab.environments import LOCKS, python_of, variants

WANTED = {
    "mariadb": {"mysqlclient", "pymysql", "mysql-connector-c", "mysql-connector-pure", "asyncmy", "aiomysql"},
    "postgresql": {
        "psycopg2", "psycopg", "psycopg-python", "psycopg-binary-protocol", "psycopg-pipeline", "psycopg-async", "asyncpg",
        "pg8000", "aiopg",
    },
    "sqlite": {"sqlite3", "aiosqlite", "apsw"},
    "valkey": {"redis-py", "redis-py-hiredis", "redis-py-async"},
}  # fmt: skip
COOPERATE = {
    "pymysql", "mysql-connector-pure", "psycopg2", "psycopg", "psycopg-python", "psycopg-binary-protocol", "psycopg-pipeline",
    "pg8000", "redis-py", "redis-py-hiredis",
}  # fmt: skip


def test_every_name_finds_its_driver():
    assert sorted(drivers.names()) == sorted(path.stem for path in drivers.FOLDER.glob("*.py"))
    for name in drivers.names():
        found = drivers.find(name)
        assert (found.name, found.path) == (name, drivers.FOLDER / f"{name}.py")


@pytest.mark.parametrize("service", WANTED)
def test_the_drivers_of_a_service(service):
    found = {d.name for d in drivers.catalogue().values() if (d.service, d.layer) == (service, "driver")}
    assert found >= WANTED[service]


def test_a_driver_is_driven_by_the_models_that_fit_it():
    for driver in drivers.catalogue().values():
        below = driver.beneath or driver.name
        if driver.calls == "async":
            assert driver.models == ["asyncio", "processes"]
        else:
            assert driver.models == ["threads", *(["gevent"] if below in COOPERATE else []), "processes"]


def test_a_layer_lies_on_a_driver_of_its_service():
    for driver in drivers.catalogue().values():
        assert (driver.layer == "driver") == (driver.beneath is None)
        if driver.beneath:
            below = drivers.find(driver.beneath)
            assert (below.layer, below.offers) == ("driver", "sql")
            assert (below.service, below.calls) == (driver.service, driver.calls)
            assert driver.offers == "things"


@pytest.mark.parametrize(
    ("service", "calls"), [("postgresql", "sync"), ("postgresql", "async"), ("mariadb", "sync"), ("mariadb", "async")]
)
def test_there_is_a_ladder_from_a_driver_to_an_orm(service, calls):
    layers = [d for d in drivers.catalogue().values() if d.beneath and (d.service, d.calls) == (service, calls)]
    bottoms = {layer: {d.beneath for d in layers if d.layer == layer} for layer in ("core", "orm")}
    assert bottoms["core"]
    assert bottoms["core"] <= bottoms["orm"]


@pytest.mark.parametrize(
    ("name", "message"),
    [("psycop", "unknown driver 'psycop'; did you mean psycopg"), ("mysqldb", "did you mean"), ("oracle", "unknown driver")],
)
def test_an_unknown_name_is_answered_with_the_nearest(name, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        drivers.find(name)


def test_what_it_runs_on(monkeypatch):
    own = interpreters.own()
    monkeypatch.setattr(interpreters, "missing", lambda asked: "`install it`" if asked == "3.99" else None)
    old = interpreters.Interpreter(own.path, "3.6.15", "cpython", free_threaded=False, source="path")
    monkeypatch.setattr(interpreters, "find", lambda asked: old)
    assert drivers.find("asyncpg").unavailable() is None
    assert drivers.find("psycopg2").unavailable("3.6") is None
    assert drivers.find("asyncpg").unavailable("3.6") == "asyncpg needs Python >=3.7; 3.6 is 3.6.15"
    assert drivers.find("psycopg2").unavailable("3.99") == "`install it`"
    monkeypatch.setattr(interpreters, "find", lambda asked: replace(old, version="3.9.18", implementation="pypy"))
    assert "no lock for pypy" in drivers.find("psycopg2").unavailable("pypy3")


def test_locks_are_there_for_older_interpreters():
    assert {f"drivers-{python}" for python in ("3.6", "3.7", "3.8", "3.9", "3.10")} <= set(variants(drivers.ENVIRONMENT))


@pytest.mark.parametrize("lock", variants(drivers.ENVIRONMENT))
def test_a_lock_holds_what_the_drivers_depend_on(lock):
    python = python_of(lock)
    release = interpreters.own().release if python is None else tuple(map(int, python.split(".")))
    locked = set(re.findall(r"^([\w.-]+)==", (LOCKS / f"{lock}.txt").read_text(), re.MULTILINE))
    parts = [*(driver.part for driver in drivers.catalogue().values()), *loaders.catalogue().values()]
    needed = {re.split(r"[^\w.-]", each)[0].lower() for part in parts if part.runs_on(release) for each in part.dependencies}
    assert needed <= locked, f"lock again: the command stands in the first lines of {lock}.txt"
