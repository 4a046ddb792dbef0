"""Every store on its real service: the statements it sends, the labels it gives, and whether its pool lets queries overlap."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from iobound import workloads
from iobound.lab import catalogue
from iobound.lab.laboratory import Laboratory
from iobound.lab.service import Counters, Service
from iobound.lab.targets import RunningTarget, launch
from iobound.load.spec import Exchange
from iobound.measure.verify import verify
from iobound.records import Workload

STORES = {name: part.description for name, part in catalogue.own().stores.items() if part.description.service != "none"}
SQL = [name for name, store in STORES.items() if store.service in {"postgresql", "mariadb"}]
REQUESTS = workloads.ROTATION
ROWS, READS = 100, 10
WAIT_S = 0.2


@pytest.fixture(scope="module")
def laboratory() -> Iterator[Laboratory]:
    with Laboratory() as shared:
        yield shared


def on(server: str, store: str) -> str:
    return f"bare-wsgi/{server}/{store}" if STORES[store].calls == "sync" else f"bare-asgi/uvicorn-asyncio/{store}"


def launched(name: str, service: Service, **settings: str) -> RunningTarget:
    told = {"DATABASE_URL" if service.kind == "sql" else "CACHE_URL": service.dataset(ROWS), **settings}
    return launch(catalogue.find(name), settings=told)


def sent(service: Service, url: str, workload: str) -> Counters:
    """Ask for a workload and return what the service counted meanwhile."""
    data = service.dataset(ROWS)
    before = service.counters(data)
    verify(url, workloads.exchanges(Workload(name=workload)))
    after = service.counters(data)
    assert before
    assert after
    statements = {verb: count - before.statements.get(verb, 0) for verb, count in after.statements.items()}
    return Counters(
        statements={verb: count for verb, count in statements.items() if count},
        transaction_control=after.transaction_control - before.transaction_control,
        rows=after.rows - before.rows,
    )


@pytest.mark.parametrize("store", SQL)
def test_a_store_sends_one_statement_for_each_read_and_insert(store, laboratory):
    service = laboratory.service(STORES[store].service)
    with launched(on("gunicorn-sync", store), service, POOL_SIZE="1") as running:
        autocommit = running.ran()["autocommit"]
        sent(service, running.url, "sql-point")  # what a driver asks once about a new connection isn't counted
        point, multi, insert = (sent(service, running.url, name) for name in ("sql-point", "sql-multi", "sql-insert"))
        listed = sent(service, running.url, "sql-list")
    assert (point.statements, point.rows) == ({"select": REQUESTS}, REQUESTS)
    assert (multi.statements, multi.rows) == ({"select": REQUESTS * READS}, REQUESTS * READS)
    assert (listed.statements, listed.rows) == ({"select": 1}, ROWS)
    assert (insert.statements, insert.rows) == ({"insert": REQUESTS}, REQUESTS)
    # The label is held against what the server saw: a store that doesn't autocommit ends a transaction for every insert.
    assert autocommit == ("False" if store.startswith(("sqlalchemy", "sqlmodel")) else "True")
    if autocommit == "False":
        assert insert.transaction_control >= REQUESTS


@pytest.mark.parametrize("store", STORES)
def test_a_store_tells_its_driver_and_its_pool(store, laboratory):
    service = laboratory.service(STORES[store].service)
    with launched(on("gunicorn-gthread", store), service, POOL_SIZE="3") as running:
        ran = running.ran()
    assert ran["pool"] == "3"
    driver, version = ran["driver"].split()[:2]
    spoken = {
        "psycopg": "psycopg",
        "PyMySQL": "pymysql",
        "mysqlclient": "mysqlclient",
        "redis-py": "redis",
        "SQLite": "sqlite3",
    }
    assert spoken.get(driver, driver).replace("redis", "redis-py") in store
    assert version[0].isdigit()
    if driver == "psycopg":
        assert ran["implementation"] == "binary"
    if driver == "mysql-connector":
        assert (
            ran["implementation"] == {"mysql-connector-c": "CMySQLConnection", "mysql-connector-pure": "MySQLConnection"}[store]
        )


def together(url: str, requests: int) -> float:
    """Ask the database to wait, `requests` times at once; return the time as a multiple of one wait."""
    exchanges = [Exchange(path=f"/db-wait?ms={WAIT_S * 1000:g}", status=200)]
    with ThreadPoolExecutor(requests) as pool:
        verify(url, exchanges)
        started = time.monotonic()
        list(pool.map(lambda _: verify(url, exchanges), range(requests)))
        return (time.monotonic() - started) / WAIT_S


@pytest.mark.parametrize("store", SQL)
def test_the_pool_lets_queries_overlap_and_no_more_than_its_size(store, laboratory):
    server = "gunicorn-gthread" if "gevent" in STORES[store].refuses else "gunicorn-gevent"
    service = laboratory.service(STORES[store].service)
    with launched(on(server, store), service, POOL_SIZE="3", THREADS="6") as running:
        assert 2 <= together(running.url, 6) < 5


@pytest.mark.parametrize(("server", "waits_in"), [("gunicorn-gthread", "libpq"), ("gunicorn-gevent", "psycogreen")])
def test_psycopg2_waits_where_its_model_can_go_on(server, waits_in, laboratory):
    with launched(f"bare-wsgi/{server}/psycopg2", laboratory.service("postgresql")) as running:
        assert running.ran()["waits_in"] == waits_in


def test_a_sync_worker_lets_nothing_overlap(laboratory):
    with launched("bare-wsgi/gunicorn-sync/psycopg", laboratory.service("postgresql")) as running:
        assert together(running.url, 3) >= 3


def test_threads_bound_sync_handlers(laboratory):
    service = laboratory.service("postgresql")
    with launched("fastapi-sync/uvicorn-uvloop/psycopg", service, THREADS="2") as running:
        assert running.ran()["threads"] == "2"
        assert 3 <= together(running.url, 6) < 6
