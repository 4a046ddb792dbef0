"""A target is verified by its answers and by the rows that it left, whoever wrote its parts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from iobound.lab import catalogue
from iobound.lab.catalogue import FOLDER, Catalogue
from iobound.lab.service import ServiceOptions, find
from iobound.measure.conformance import Ground, conform, cover
from iobound.workloads import ROTATION

FRAMEWORK = (FOLDER / "frameworks" / "bare-wsgi.py").read_text()
STORE = (FOLDER / "stores" / "sqlite3.py").read_text()


@pytest.fixture(scope="module")
def ground() -> Iterator[Ground]:
    with find("sqlite").start(ServiceOptions()) as service:
        yield Ground(service)


def added(folder: Path, framework: str = FRAMEWORK, store: str = STORE) -> Catalogue:
    """Return the catalogue with a framework and a store of a stranger's added, each one file."""
    for kind, text in {"frameworks": framework, "stores": store}.items():
        (folder / kind).mkdir()
        (folder / kind / "strange.py").write_text(text)
    return Catalogue(FOLDER, folder)


def test_a_framework_and_a_store_are_added_by_a_file_each(tmp_path, ground):
    target = added(tmp_path).find("strange/gunicorn-sync/strange")
    verdict = conform(target, ground)
    assert (verdict.status, verdict.reason) == ("verified", None)
    assert verdict.workloads == dict.fromkeys(
        ["plain", "json", "file", "sql-point", "sql-list", "sql-multi", "sql-insert", "mixed"], "verified"
    )


def test_wrong_bytes_fail_only_their_workload(tmp_path, ground):
    wrong = STORE.replace("ORDER BY id", "ORDER BY id DESC")
    verdict = conform(added(tmp_path, store=wrong).find("bare-wsgi/werkzeug/strange"), ground)
    assert verdict.status == "failed"
    assert {name for name, outcome in verdict.workloads.items() if outcome != "verified"} == {"sql-list"}
    assert 'instead of b\'[{"id":1,' in verdict.workloads["sql-list"]
    assert str(verdict.reason).startswith("sql-list: GET /sql-list answered")


def test_an_error_is_told(tmp_path, ground):
    wrong = STORE.replace("FROM item WHERE", "FROM gone WHERE")
    verdict = conform(added(tmp_path, store=wrong).find("bare-wsgi/werkzeug/strange"), ground)
    assert "GET /sql-point?id=" in verdict.workloads["sql-point"]
    assert "answered 500 instead of 200" in verdict.workloads["sql-point"]


@pytest.mark.parametrize(
    ("statement", "times"),
    [
        ("pass", 0),
        ('[connection.execute("INSERT INTO entry (name, quantity) VALUES (?, ?)", [name, quantity]) for _ in range(2)]', 2),
        ('connection.execute("BEGIN"); connection.execute("INSERT INTO entry (name, quantity) VALUES (1, 1)")', None),
    ],
)
def test_inserts_that_are_answered_and_not_there_fail(tmp_path, ground, statement, times):
    insert = 'connection.execute("INSERT INTO entry (name, quantity) VALUES (?, ?)", [name, quantity])'
    assert insert in STORE
    target = added(tmp_path, store=STORE.replace(insert, statement)).find("bare-wsgi/werkzeug/strange")
    verdict = conform(target, ground)
    assert verdict.status == "failed"
    assert verdict.workloads["sql-point"] == "verified"
    if times is not None:
        rows = ROTATION * times
        assert verdict.workloads["sql-insert"] == f"{ROTATION} inserts were answered as done, {rows} rows were added"


def test_a_target_that_does_not_start_fails(tmp_path, ground):
    target = added(tmp_path, framework=FRAMEWORK + "\nraise SystemExit('broken')\n").find("strange/werkzeug/strange")
    verdict = conform(target, ground)
    assert (verdict.status, verdict.workloads) == ("failed", {})
    assert "broken" in str(verdict.reason)


def test_the_cover_holds_every_framework_on_every_server_and_service_and_every_store_with_every_model():
    every = [target for target in catalogue.own().targets() if target.kind == "composed"]
    chosen = cover(every)
    for meeting in (
        lambda framework, server, store, target: (framework.name, server.name),
        lambda framework, server, store, target: (framework.name, target.service),
        lambda framework, server, store, target: (store.name, target.model),
        lambda framework, server, store, target: (store.name, target.model == "asyncio" and server.description.loop),
    ):
        everywhere, here = ({meeting(*target.parts, target) for target in some} for some in (every, chosen))
        assert everywhere == here
    assert len(chosen) <= 150


def test_the_cover_holds_every_published_program():
    published = [target for target in catalogue.own().targets() if target.kind == "published"]
    assert cover(published) == published
