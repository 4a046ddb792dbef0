"""What the report shows of drivers."""

from __future__ import annotations

import csv as csv_module
import re
from io import StringIO

import pytest

from driver_samples import PHASES, cell, header, planned, profiled, sample, use
from iobound.analysis.judging import judge
from iobound.records import DriverCell, DriverSample, Judgement, RunHeader
from iobound.report import csv, html, terminal
from iobound.report.scripts import drivers
from iobound.report.sections import Section

STACKS = {"program.py:select;driver.py:execute;pymysql/connections.py:read": 70, "program.py:select": 20, ":GC:": 10}


def samples(*of: DriverCell, launches: int = 3) -> list[DriverSample]:
    return [
        sample(
            each,
            launch,
            select=use(1000.0 * (number + 1), 0.3, queued=0.1),
            stacks={} if launch else STACKS,
            profiled={} if launch else dict.fromkeys(PHASES, profiled(5000.0, 321, 0.2)),
        )
        for number, each in enumerate(of)
        for launch in range(launches)
    ]


def judged(*of: DriverCell) -> tuple[RunHeader, Judgement]:
    head = header(planned(of))
    return head, judge(head, samples(*of))


def section(*of: DriverCell) -> Section:
    head, judgement = judged(*of)
    return drivers.section(head, judgement, judgement.scripts)


PSYCOPG = cell("psycopg", title="psycopg 3 (C)")
CORE = cell("sqlalchemy-core-psycopg", title="SQLAlchemy Core on psycopg 3 (C)", rung="core", beneath="psycopg")
MYSQL = cell("pymysql", "mariadb"), cell("mysqlclient", "mariadb")


def test_each_phase_has_a_table_of_all_drivers():
    grids = section(PSYCOPG, *MYSQL).grids
    for title in ("SELECT of all rows", "INSERT of one row", "Read of one row", "Read of wide rows"):
        [grid] = [grid for grid in grids if grid.title.startswith(title)]
        assert {row[0] for row in grid.rows} == {"psycopg", "pymysql", "mysqlclient"}


def test_a_row_shows_the_parts_of_the_time_and_the_index():
    [grid] = [grid for grid in section(PSYCOPG).grids if grid.title.startswith("SELECT")]
    [row] = grid.rows
    shown = dict(zip(grid.columns, row, strict=True))
    assert shown["wall"].startswith("1,000 [1,000, 1,000]")
    assert [shown[column] for column in ("user", "system", "queue", "wait", "index")] == ["450", "150", "100", "300", "30%"]


def test_drivers_at_several_levels_are_told_apart():
    far = cell("psycopg", rtt_ms=5.0, title="psycopg 3 (C)")
    [grid] = [grid for grid in section(PSYCOPG, far).grids if grid.title.startswith("SELECT")]
    assert [row[0] for row in grid.rows] == ["psycopg", "psycopg, 5 ms"]


def test_bars_of_each_phase_a_ladder_and_a_flame_graph_a_driver():
    figures = section(PSYCOPG, CORE).figures()
    titles = [figure.title for figure in figures]
    assert [title for title in titles if "flame" in title] == [
        "psycopg: flame graph of a SELECT",
        "sqlalchemy-core-psycopg: flame graph of a SELECT",
    ]
    assert "From the driver to JSON" in titles
    assert sum("where the time goes" in title for title in titles) == 4
    for figure in figures:
        assert figure.svg.startswith("<svg")
        assert figure.table.rows


def test_the_bar_of_a_select_is_split_by_layer():
    [select] = [figure for figure in section(PSYCOPG).figures() if figure.title.startswith("SELECT")]
    shown = dict(zip(select.table.columns, select.table.rows[0], strict=True))
    assert [shown[f"user: {layer}, µs"] for layer in ("driver", "application", "interpreter")] == ["315", "90.0", "45.0"]


@pytest.mark.parametrize("column", ["function calls", "time under it", "in sockets"])
def test_what_a_profile_would_have_said(column: str):
    [grid] = [grid for grid in section(PSYCOPG).grids if "cProfile" in grid.title]
    shown = dict(zip(grid.columns, grid.rows[0], strict=True))
    assert shown[column] == {"function calls": "321", "time under it": "5.56x", "in sockets": "20%"}[column]


def test_the_page_of_a_whole_catalogue_stays_small_and_has_no_script():
    deep = {";".join(f"some/package{n}/module.py:Class.function_{d}" for d in range(30)) + f";x:{n}": 9 for n in range(100)}
    many = [cell(f"driver-{number}") for number in range(40)]
    head = header(planned(many))
    seen = [sample(each, launch, stacks=deep) for each in many for launch in range(2)]
    page = html.render(head, judge(head, seen), "run")
    assert len(page.encode()) < html.LIMIT
    assert "<script" not in page
    assert "driver-39: no room in this page" in page


def test_the_terminal_shows_the_same_tables():
    head, judgement = judged(*MYSQL)
    out = StringIO()
    terminal.render(head, judgement, terminal.console(out))
    text = out.getvalue()
    assert re.search(r"pymysql +1,000 .* 450 +150 +100 +300 +30%", text)
    assert "Published, and here" in text


def test_a_table_has_a_row_for_each_phase_with_its_estimates():
    head, judgement = judged(PSYCOPG, CORE)
    rows = list(csv_module.DictReader(StringIO(csv.render(head, judgement, "run"))))
    assert len(rows) == 2 * len(PHASES)
    select = next(row for row in rows if row["id"] == "drivers/sqlalchemy-core-psycopg/select")
    assert (select["experiment"], select["driver"], select["valid"]) == ("drivers", "sqlalchemy-core-psycopg", "True")
    assert float(select["wall_us"]) == pytest.approx(2000)
    assert float(select["relative_low"]) == pytest.approx(2)
    assert "stacks" not in select
