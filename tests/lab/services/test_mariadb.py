import os
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pymysql
import pytest

from iobound import dataset
from iobound.errors import LabError, Unavailable
from iobound.lab import urls
from iobound.lab.processes import tree
from iobound.lab.service import Counters, ServiceOptions
from iobound.lab.services import mariadb as module
from iobound.lab.services.mariadb import Service

pytestmark = pytest.mark.skipif(bool(Service.unavailable()), reason="needs MariaDB")


def difference(after, before):
    return Counters(
        statements=dict(Counter(after.statements) - Counter(before.statements)),
        transaction_control=after.transaction_control - before.transaction_control,
        rows=after.rows - before.rows,
    )


def connect(url, **options):
    parts = urlsplit(url)
    where = {"host": parts.hostname, "port": parts.port, "user": parts.username, "password": parts.password}
    return pymysql.connect(**where, database=urls.database(url) or None, **options)


def rows_of(connection, query, *parameters):
    with connection.cursor() as cursor:
        cursor.execute(query, parameters)
        return cursor.fetchall()


@pytest.fixture
def url(mariadb):
    return mariadb.dataset(100)


@pytest.fixture
def client(url):
    with connect(url, autocommit=True) as connection:
        yield connection


@pytest.mark.parametrize("rows", [0, 1, 10_000])
def test_dataset_holds_the_items(mariadb, rows):
    url = mariadb.dataset(rows)
    assert mariadb.dataset(rows) == url
    with connect(url) as connection:
        found = rows_of(connection, "SELECT id, name, quantity FROM item ORDER BY id")
        assert list(found) == [tuple(item.values()) for item in dataset.items(rows)]


def test_entries_are_counted_and_emptied(mariadb, url, client):
    for _ in range(3):
        rows_of(client, "INSERT INTO entry (name, quantity) VALUES ('one', 1)")
    assert mariadb.count_entries(url) == 3
    mariadb.empty_entries(url)
    assert mariadb.count_entries(url) == 0


def test_emptying_what_a_target_keeps_locked_is_explained(mariadb, url, monkeypatch):
    with connect(url) as holder, Service.start(ServiceOptions(url=urls.with_database(url, ""))) as impatient:
        rows_of(holder, "INSERT INTO entry (name, quantity) VALUES ('one', 1)")
        impatient._query("hurry", "SET lock_wait_timeout = 1")
        with pytest.raises(LabError, match=r"failed to empty the table entry: .*Lock wait timeout"):
            impatient.empty_entries(url)


def test_counters_say_exactly_what_a_client_did(mariadb, url, client):
    before = mariadb.counters(url)
    for number in range(1, 8):
        rows_of(client, "SELECT * FROM item WHERE id = %s", number)
    rows_of(client, "/* who: me */ (SELECT * FROM item LIMIT 20)")
    rows_of(client, "WITH few AS (SELECT * FROM item LIMIT 2) SELECT * FROM few")
    client.begin()
    for name in "abc":
        rows_of(client, "INSERT INTO entry (name, quantity) VALUES (%s, 1)", name)
    rows_of(client, "UPDATE entry SET quantity = 2 WHERE name <> 'a'")
    client.commit()
    client.begin()
    rows_of(client, "DELETE FROM entry")
    client.rollback()
    client.ping()
    used = difference(mariadb.counters(url), before)
    assert used.statements == {"select": 9, "insert": 3, "update": 1, "delete": 1}
    assert used.transaction_control == 2 + 2 + 1
    assert used.rows == 7 + 20 + 2 + 3 + 2 + 3
    mariadb.empty_entries(url)


def test_own_statements_are_not_counted(mariadb, url):
    before = mariadb.counters(url)
    mariadb.activity(url)
    mariadb.info()
    mariadb.count_entries(url)
    mariadb.empty_entries(url)
    mariadb.dataset(11)
    assert difference(mariadb.counters(url), before) == Counters()


def test_activity_counts_sessions_that_sleep_and_wait_for_locks(mariadb, url, until):
    def work(query):
        with connect(url) as connection, suppress(pymysql.OperationalError):  # interrupted below
            rows_of(connection, query)

    with connect(url) as idle, connect(url) as holder:
        rows_of(holder, "UPDATE item SET quantity = quantity + 1 WHERE id = 1")
        queries = [*["SELECT sleep(60)"] * 3, "UPDATE item SET quantity = quantity WHERE id = 1"]
        threads = [threading.Thread(target=work, args=[query]) for query in queries]
        for thread in threads:
            thread.start()
        seen = []

        def all_there():
            seen.append(mariadb.activity(url))
            return seen[-1].active == 4 and seen[-1].lock_waits == 1

        assert until(all_there), seen[-1]
        assert seen[-1].sessions == 6
        holder.rollback()
        for number, query in rows_of(idle, "SELECT id, info FROM information_schema.processlist"):
            if query == "SELECT sleep(60)":
                rows_of(idle, f"KILL QUERY {number}")
        for thread in threads:
            thread.join()
        assert mariadb.activity(url).active == 0


def test_info_is_read_from_the_server(mariadb):
    info = mariadb.info()
    assert info.source == "PATH"
    assert "MariaDB" in info.version
    assert info.settings["max_connections"] == "400"
    assert info.settings["innodb_flush_log_at_trx_commit"] == "0"
    assert info.ping_us > 0


def test_pids_are_the_server(mariadb, client):
    [pid] = mariadb.pids()
    assert tree(pid) == [pid]
    [[_, written]] = rows_of(client, "SHOW VARIABLES LIKE 'pid_file'")
    assert int(Path(written).read_text()) == pid


def test_durability_cores_and_two_servers_at_once(mariadb):
    core = min(os.sched_getaffinity(0))
    with Service.start(ServiceOptions(durable=True, max_connections=30, cpus=[core])) as other:
        settings = other.info().settings
        assert settings["innodb_flush_log_at_trx_commit"] == "1"
        assert settings["innodb_doublewrite"] == "ON"
        assert settings["max_connections"] == "30"
        assert os.sched_getaffinity(other.pids()[0]) == {core}
        assert mariadb.pids() != other.pids()
    other.close()
    assert tree(other.pids()[0]) == []


def test_without_binaries_the_way_out_is_named(monkeypatch):
    monkeypatch.setattr(module.shutil, "which", lambda name, path: None)
    with pytest.raises(Unavailable, match=r"apt-get install mariadb-server.*--mysql URL"):
        Service.start(ServiceOptions())
    assert "apt-get install" in Service.unavailable()


def test_a_server_given_by_url_is_left_as_it_was(mariadb, url, client):
    before = rows_of(client, "SHOW DATABASES")
    with Service.start(ServiceOptions(url=urls.with_database(url, "mysql"))) as service:
        data = service.dataset(10)
        assert len(rows_of(client, "SHOW DATABASES")) == len(before) + 1
        assert service.info().source == "url"
        assert service.pids() is None
        assert service.count_entries(data) == 0
    assert rows_of(client, "SHOW DATABASES") == before


def test_users_with_few_privileges_and_with_none(mariadb, url, client):
    rows_of(client, "CREATE USER plain@'127.0.0.1' IDENTIFIED BY 'secret'")
    rows_of(client, "GRANT ALL ON `iobound\\_%%`.* TO plain@'127.0.0.1'")
    rows_of(client, "CREATE USER nothing@'127.0.0.1' IDENTIFIED BY 'secret'")
    port = urlsplit(url).port
    with Service.start(ServiceOptions(url=f"mysql://plain:secret@127.0.0.1:{port}/")) as service:
        data = service.dataset(5)
        assert service.activity(data).sessions == 0
        assert service.counters(data) is not None
    with (
        Service.start(ServiceOptions(url=f"mysql://nothing:secret@127.0.0.1:{port}/")) as service,
        pytest.raises(LabError, match=r"failed to make a database: .*denied"),
    ):
        service.dataset(5)


def test_scratch_is_empty_each_time_and_goes_with_the_service(mariadb, url, client):
    server = urls.with_database(url, "")
    with Service.start(ServiceOptions(url=server)) as service, client.cursor() as cursor:
        for _ in range(2):
            name = urls.database(service.scratch("load"))
            cursor.execute(f"SHOW TABLES FROM {name}")
            assert cursor.fetchall() == ((module.MARK_TABLE,),)
            cursor.execute(f"CREATE TABLE {name}.load_ (id INT)")
        assert urls.database(service.scratch("other")) != name
        assert name in Service.clean(server).in_use
    with client.cursor() as cursor:
        cursor.execute("SHOW DATABASES LIKE %s", [name])
        assert cursor.fetchall() == ()
