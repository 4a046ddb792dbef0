from __future__ import annotations

import os
import signal
import time

import psutil
import pytest

from iobound.errors import LabError, Unavailable
from iobound.lab import catalogue, service
from iobound.lab.laboratory import Laboratory
from iobound.lab.service import ServiceOptions
from iobound.planning import SideBySide
from iobound.records import Cell, Workload


@pytest.fixture
def without_valkey(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(options: ServiceOptions) -> None:
        raise Unavailable("no valkey here; install one")

    monkeypatch.setattr(service.find("valkey"), "start", missing)


def cells(*targets: str) -> list[Cell]:
    return [SideBySide("t", "", [catalogue.find(name)], Workload(name="plain")).capacity(1).cells[0] for name in targets]


def test_what_does_not_need_a_missing_service_runs(without_valkey: None):
    with Laboratory() as laboratory:
        asked = cells("flask/werkzeug/redis-py", "flask/werkzeug/sqlite3")
        assert [each.name for each in laboratory.services_of(asked)] == ["sqlite"]
        assert laboratory.services_of(cells("flask/werkzeug/redis-py", "flask/werkzeug")) == []
        with pytest.raises(LabError, match="no valkey here"):
            laboratory.settings(asked[0])


def test_nothing_runs_where_all_needs_a_missing_service(without_valkey: None):
    with Laboratory() as laboratory, pytest.raises(Unavailable, match="install one"):
        laboratory.services_of(cells("flask/werkzeug/redis-py"))


def test_an_alternative_stands_in(without_valkey: None):
    with Laboratory() as laboratory:
        assert laboratory.first_available(["valkey", "sqlite"]) == "sqlite"
        assert laboratory.first_available(["valkey"]) == "valkey"


def test_a_url_that_leads_nowhere_is_not_passed_over():
    nowhere = {"postgresql": "postgresql://a:b@127.0.0.1:1/c"}
    with Laboratory(urls=nowhere) as laboratory, pytest.raises(LabError, match=r"127\.0\.0\.1:1"):
        laboratory.first_available(["postgresql", "sqlite"])


def test_a_target_is_told_the_way_over_its_round_trip_time():
    with Laboratory() as laboratory:
        near, far = (
            SideBySide("t", "", [catalogue.find("flask/werkzeug/psycopg")], Workload(name="sql-point"), rtt_ms=rtt_ms)
            .capacity(1)
            .cells[0]
            for rtt_ms in (0.0, 3.0)
        )
        url = laboratory.data_url(far)
        assert url
        assert laboratory.settings(near)["DATABASE_URL"] == url
        assert laboratory.settings(far)["DATABASE_URL"] == laboratory.relay(url, 3.0).url(url)
        pid = laboratory.relay(url, 3.0).pid
        assert psutil.pid_exists(pid)
    assert not psutil.pid_exists(pid)


def test_a_relay_that_died_is_not_blamed_on_a_target():
    with Laboratory() as laboratory:
        url = laboratory.service("valkey").dataset(0)
        os.kill(laboratory.relay(url, 1.0).pid, signal.SIGKILL)
        with pytest.raises(LabError, match="the relay"):
            for _ in range(100):
                laboratory.check()
                time.sleep(0.01)
