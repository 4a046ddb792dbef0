import sqlite3
from pathlib import Path

import pytest

from iobound import dataset
from iobound.errors import LabError, UsageError
from iobound.lab.service import ServiceOptions
from iobound.lab.services import sqlite as module
from iobound.lab.services.sqlite import Service


@pytest.fixture
def sqlite():
    with Service.start(ServiceOptions()) as service:
        yield service


def path(url):
    return Path(url.removeprefix("sqlite:///"))


@pytest.mark.parametrize("rows", [0, 1, 10_000])
def test_dataset_holds_the_items(sqlite, rows):
    url = sqlite.dataset(rows)
    assert sqlite.dataset(rows) == url
    assert url.startswith("sqlite:////")
    with sqlite3.connect(path(url)) as connection:
        found = connection.execute("SELECT id, name, quantity FROM item ORDER BY id").fetchall()
        assert found == [tuple(item.values()) for item in dataset.items(rows)]
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_entries_are_counted_and_emptied(sqlite):
    url = sqlite.dataset(10)
    with sqlite3.connect(path(url)) as connection:
        connection.execute("INSERT INTO entry (name, quantity) VALUES ('one', 1), ('two', 2)")
    assert sqlite.count_entries(url) == 2
    sqlite.empty_entries(url)
    assert sqlite.count_entries(url) == 0


def test_what_a_target_keeps_locked_is_explained(sqlite, monkeypatch):
    monkeypatch.setattr(module, "LOCK_TIMEOUT_S", 0.1)
    url = sqlite.dataset(10)
    with sqlite3.connect(path(url)) as connection:
        connection.execute("INSERT INTO entry (name, quantity) VALUES ('one', 1)")
        with pytest.raises(LabError, match="database is locked"):
            sqlite.empty_entries(url)


def test_there_is_nothing_to_count_or_watch(sqlite):
    url = sqlite.dataset(10)
    assert sqlite.counters(url) is None
    assert sqlite.activity(url) is None
    assert sqlite.pids() == []
    assert Service.unavailable() is None


def test_info(sqlite):
    info = sqlite.info()
    assert info.version == sqlite3.sqlite_version
    assert info.settings["journal_mode"] == "wal"
    assert info.ping_us > 0


def test_nothing_stays_behind_and_a_url_is_refused(sqlite):
    folder = path(sqlite.dataset(10)).parent
    sqlite.close()
    sqlite.close()
    assert not folder.exists()
    with pytest.raises(UsageError, match="takes no URL"):
        Service.start(ServiceOptions(url="sqlite:////x"))


def test_scratch_is_empty_each_time(sqlite):
    for _ in range(2):
        scratch = sqlite.scratch("load")
        with sqlite3.connect(path(scratch)) as other:
            assert other.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
            other.execute("CREATE TABLE load (id integer)")
    assert sqlite.scratch("other") != scratch
