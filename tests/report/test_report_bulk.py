"""The section of bulk loads: rates over connections, CPU a row, what limited each, what wasn't verified, in every format."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from report_builders import around, tour

from iobound.analysis import loads_published
from iobound.records import BulkCell, BulkSummary, Rounds
from iobound.report import html, json, markdown
from iobound.report.scripts import bulk
from iobound.report.sections import Section


def summary(asked: str, connections: int = 10, phase: str = "data", **other: Any) -> BulkSummary:
    model, _, driver = asked.partition("/")
    id_ = f"bulk/{asked}/c{connections}"
    values: dict[str, Any] = {
        "python": None,
        "service": "postgresql",
        "rtt_ms": 0.0,
        "valid": True,
        "invalid_because": None,
        "launches": 3,
        "noisy": 0,
        "ran": {"driver": "some 1.0"},
        "lines": 40,
        "transaction": "autocommit",
        "statements": "single",
        "feeder": "preloaded",
        "rows": 8880,
        "rows_per_second": around(12_000),
        "verified": True,
        "bound_by": "target-cpu",
        "bound_because": "the target used 99% of a core",
        "relative": None,
        "relative_to": None,
        "client_cpu_us_per_row": around(60),
        "client_user_us_per_row": around(40),
        "client_system_us_per_row": around(20),
        "database_cpu_us_per_row": around(30),
        "feeder_empty_s": 0.0,
        "idle_share": 0.0,
        "rows_least": 800,
        "rows_most": 1000,
        "fairness": 0.8,
        "retried": 0,
        "waits": {"Client:ClientRead": 8.0, "running": 1.5, "LWLock:WALWrite": 0.5},
        "window_rows_per_second": None,
        "round_trips_per_row": None,
        "bad_lines": [],
        **other,
    }
    return BulkSummary(
        id=f"{id_}/{phase}", cell=id_, model=model, driver=driver, connections=connections, phase=phase, **values
    )


def rows(*levels: int) -> list[BulkSummary]:
    return [
        summary(asked, connections, phase, **extra)
        for connections in levels
        for asked, extra in (
            ("threads/psycopg2", {}),
            ("asyncio/asyncpg", {"relative": around(0.6), "relative_to": "bulk/threads/psycopg2/c10/data"}),
            ("gevent/psycopg2", {"valid": False, "verified": False, "invalid_because": "data_element holds 1 rows"}),
        )
        for phase in ("geo", "data")
    ]


@pytest.fixture
def section() -> Section:
    header, judgement = tour()
    return bulk.section(header, judgement, rows(10))


def test_each_phase_has_a_table_with_what_bound_each_and_what_is_not_verified(section: Section):
    values, geo = section.grids[:2]
    assert values.title.startswith("Values")
    assert geo.title.startswith("Geographical records")
    assert len(values.rows) == len(geo.rows) == 3
    assert all(len(row) == len(values.columns) for row in values.rows)
    assert values.rows[0][values.columns.index("bound by")] == "target CPU"
    assert values.rows[1][values.columns.index("against")].startswith("0.60x")
    assert [row[2] == "wrong rows" for row in values.rows] == [False, False, True]
    assert values.faint == [2]
    assert section.grids[2].rows[0][2:] == ["8.0", "1.5", "LWLock:WALWrite 0.5", "0%"]
    assert any("data_element holds 1 rows" in note for note in values.notes)


@pytest.mark.parametrize("levels", [(10,), (1, 10, 100)])
def test_rates_and_cpu_a_row_are_drawn_for_each_phase_without_what_is_invalid(levels: tuple[int, ...]):
    header, judgement = tour()
    figures = bulk.section(header, judgement, rows(*levels)).figures()
    assert [figure.title.partition(": ")[2] for figure in figures] == ["rows a second", "CPU a row"] * 2
    for figure in figures:
        assert "<svg" in figure.svg
        assert "gevent" not in figure.svg
    assert len(figures[0].table.rows) == 3 * len(levels)


def test_what_was_published_is_shown_beside_what_is_here():
    header, judgement = tour()
    claim = replace(judgement.claims[0], experiment="bulk", statement="asyncio against threads")
    section = bulk.section(header, replace(judgement, claims=[claim]), rows(10))
    assert any("asyncio against threads" in row[0] for row in section.grids[-1].rows)


def test_published_ratios_that_were_not_measured_are_one_line_but_on_the_page():
    header, judgement = tour()
    held, missing = (
        replace(judgement.claims[0], experiment="bulk", statement=f"statement {result}", result=result, because="it takes more")
        for result in ("holds", "not-measured")
    )
    grid = bulk.section(header, replace(judgement, claims=[held, missing, missing]), rows(10)).grids[-1]
    assert len(grid.rows) == 3
    brief = grid.brief()
    assert [row[0] for row in brief.rows] == ["statement holds"]
    [note] = brief.notes
    assert note.startswith("Not measured: 2 of 3; to measure all: iobound run bulk --connections 15,120,350")
    for setting in loads_published.SETTINGS:
        assert str(setting.connections) in bulk.PUBLISHED
        assert all(f"{program.model}/{program.driver}" in bulk.PUBLISHED for program in setting.rates)


def test_unusual_ways_and_bad_lines_are_named():
    header, judgement = tour()
    unusual = {"python": "2.7", "rtt_ms": 1.0, "transaction": "line", "statements": "copy", "feeder": "streaming"}
    odd = summary("threads/psycopg2", bad_lines=["line 3: x"], **unusual)
    [grid, *_] = bulk.section(header, judgement, [odd]).grids
    assert grid.rows[0][0] == "threads/psycopg2, Python 2.7, 1 ms away, a transaction a line, copy, streaming"
    assert "Left out: line 3: x." in grid.notes


def test_it_is_in_every_format():
    header, judgement = tour()
    cell = BulkCell(
        id="bulk/threads/psycopg2/c10", model="threads", driver="psycopg2", part="psycopg2", connections=10, lines=40,
        data=None, transaction="autocommit", statements="single", feeder="preloaded", bad_lines="refuse",
    )  # fmt: skip
    scripts = [Rounds(experiment="bulk", baseline=cell.id, cells=[cell], rounds=3, budget_s=1.0)]
    header = replace(header, plan=replace(header.plan, scripts=scripts))
    judgement = replace(judgement, scripts=[*rows(10)])
    for text in (html.render(header, judgement, "run"), markdown.render(header, judgement, "run")):
        assert "Bulk load" in text
        assert "asyncio/asyncpg" in text
    assert "bulk/asyncio/asyncpg/c10/data" in json.render(header, judgement, "run")
