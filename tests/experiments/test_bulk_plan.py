"""What `iobound run bulk` is going to measure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from iobound.errors import UsageError
from iobound.experiments import bulk
from iobound.planning import Choice
from iobound.records import BulkCell, Rounds


def plan(**choice: Any) -> Rounds:
    first_available = choice.pop("first_available", lambda names: names[0])
    [rounds] = bulk.plan(Choice(quick=choice.pop("quick", True), first_available=first_available, **choice)).scripts
    return rounds


def cells(**choice: Any) -> list[BulkCell]:
    return [cell for cell in plan(**choice).cells if isinstance(cell, BulkCell)]


def test_the_published_models_by_default_and_more_of_them_when_it_is_not_quick():
    quick = cells()
    assert [f"{cell.model}/{cell.driver}" for cell in quick] == [
        *("threads/psycopg2", "gevent/psycopg2", "asyncio/aiopg", "asyncio/asyncpg", "asyncio/psycopg"),
    ]
    assert {cell.connections for cell in quick} == {10}
    assert plan().baseline == "bulk/threads/psycopg2/c10"
    whole = cells(quick=False)
    assert {cell.connections for cell in whole} == {15, 120}
    assert {"asyncio-uvloop", "processes"} <= {cell.model for cell in whole}
    assert len({cell.id for cell in whole}) == len(whole)


def test_threads_are_measured_on_a_free_threaded_interpreter_where_there_is_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bulk.interpreters, "missing", lambda asked: None if asked == "3.13t" else "not here")
    free = [cell for cell in cells(quick=False) if cell.python]
    assert [(cell.python, cell.model, cell.driver, cell.connections) for cell in free] == [
        ("3.13t", "threads", "psycopg", 15), ("3.13t", "threads", "psycopg", 120),
    ]  # fmt: skip
    assert not [cell for cell in cells(quick=False, models=["threads/psycopg"]) if cell.python]
    monkeypatch.setattr(bulk.interpreters, "missing", lambda asked: "not here")
    assert not [cell for cell in cells(quick=False) if cell.python]


def test_the_budgets_and_rounds():
    assert (plan().budget_s, plan().rounds) == (30, 3)
    assert (plan(quick=False).budget_s, plan(quick=False).rounds) == (90, 5)


def test_without_postgresql_mariadb_is_loaded():
    found = cells(first_available=lambda names: names[1])
    assert {cell.service for cell in found} == {"mariadb"}
    assert {cell.model for cell in found} == {"threads", "gevent", "asyncio"}


def test_every_level_of_every_factor_is_crossed():
    found = cells(
        models=["threads/psycopg2", "asyncio/psycopg"],
        connections=[1, 350],
        transaction=["autocommit", "line"],
        statements=["single", "copy"],
        feeder=["preloaded", "published"],
        python=["2.7", "3.8"],
        rtt=[0.0, 1.0],
    )
    assert len(found) == 2**7
    assert len({cell.id for cell in found}) == len(found)
    assert {(cell.driver, cell.part) for cell in found} == {("psycopg2", "psycopg2"), ("psycopg", "psycopg-async")}


def test_more_lines_are_streamed_unless_asked_otherwise():
    assert {cell.feeder for cell in cells(lines=2000)} == {"preloaded"}
    assert {cell.feeder for cell in cells(lines=2001)} == {"streaming"}
    assert {cell.feeder for cell in cells(lines=2001, feeder=["preloaded"])} == {"preloaded"}


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"models": ["threads/asyncpg"]}, "threads can't drive asyncpg"),
        ({"models": ["processes/psycopg2"], "feeder": ["published"]}, "--feeder published .* processes has several"),
        ({"data": Path(__file__).parent}, "--data: .* has no data file"),
    ],
)
def test_what_is_asked_wrongly_is_refused(choice: dict[str, Any], message: str):
    with pytest.raises(UsageError, match=message):
        plan(**choice)


def test_bad_data_is_refused_before_anything_is_started(tmp_path: Path):
    (tmp_path / "dictionary.json").write_text('[{"code": "A", "name": "A", "universe": "", "elements": [{"name": "Total"}]}]')
    (tmp_path / "segments.json").write_text('[{"segment": "01", "starting_matrix": "A", "ending_matrix": "A"}]')
    (tmp_path / "x.uf1").write_text("u,NY,0,01,1,5\nu,NY,0,01,2,five\n")
    with pytest.raises(UsageError, match=r"x\.uf1, line 2: column 6 is 'five'.*--bad-lines report"):
        plan(data=tmp_path, lines=2)
    assert cells(data=tmp_path, lines=1)[0].data == str(tmp_path)


def test_unasked_every_connection_has_a_line():
    assert {(cell.connections, cell.lines) for cell in cells(connections=[15, 120])} == {(15, 40), (120, 120)}
    assert {cell.lines for cell in cells(connections=[15, 120], lines=30)} == {30}


def test_the_budget_grows_with_what_is_asked_beyond_the_usual():
    assert plan().budget_s == plan(models=["threads/psycopg2"]).budget_s == bulk.QUICK_BUDGET_S
    assert plan(connections=[5, 10, 20]).budget_s == pytest.approx(3 * bulk.QUICK_BUDGET_S)
