"""The section of transfers: what is wrong is marked and not ranked, in every format."""

from __future__ import annotations

from typing import Any

import pytest
from report_builders import tour

from iobound.records import Interval, TransferSummary
from iobound.report.scripts import transfer
from iobound.report.sections import Section


def summary(strategy: str, verdict: Any = "correct", database: str = "postgresql", **other: Any) -> TransferSummary:
    counts = ["transfers", "contended", "lost_updates", "overdrafts", "money_created", "deadlocks", "serialization_failures"]
    counts += ["lock_timeouts", "busy", "version_conflicts", "retries", "given_up", "unfinished", "launches", "noisy"]
    id_ = f"transfer/{database}/{strategy}"
    values: dict[str, Any] = {
        **dict.fromkeys(counts, 0),
        "isolation": "read committed",
        "model": "threads",
        "driver": "some",
        "workers": 8,
        "processes": 1,
        "python": None,
        "service": database,
        "rtt_ms": 0.0,
        "ran": {"driver": "some 1.0"},
        "errors": {},
        "valid": verdict == "correct",
        "invalid_because": None if verdict == "correct" else "it doesn't add up",
        "relative": None,
        "relative_to": None,
        "transactions_per_second": Interval(estimate=900.0, low=800.0, high=1000.0),
        **other,
    }
    return TransferSummary(id=id_, cell=id_, strategy=strategy, verdict=verdict, database=database, **values)


@pytest.fixture
def section() -> Section:
    header, judgement = tour()
    reference = "transfer/postgresql/for-update-ordered"
    one = Interval(estimate=1.0, low=1.0, high=1.0)
    rows = [
        summary("for-update-ordered", relative=one, relative_to=reference),
        summary("autocommit", "wrong", lost_updates=1234, overdrafts=3, money_created=-12),
        summary(
            "version-counter", relative=Interval(estimate=0.5, low=0.4, high=0.6), relative_to=reference, deadlocks=2, busy=1
        ),
        summary("shared-connection", "errors", errors={"InterfaceError: another operation": 50}),
        summary("transaction", isolation="repeatable read"),
        summary("begin-immediate", database="sqlite", isolation="serializable"),
    ]
    return transfer.section(header, judgement, rows)


def test_there_is_a_table_for_each_database(section: Section):
    _, postgresql, sqlite = section.grids
    assert [grid.title for grid in (postgresql, sqlite)] == [
        "PostgreSQL: transfers by strategy",
        "SQLite: transfers by strategy",
    ]
    assert len(postgresql.rows) == 5
    assert all(len(row) == len(postgresql.columns) for row in postgresql.rows)


def test_what_has_a_fault_is_marked_and_not_ranked(section: Section):
    grid = section.grids[1]
    assert list(grid.faint) == [1, 3]
    wrong = dict(zip(grid.columns, grid.rows[1], strict=True))
    assert (wrong["verdict"], wrong["× reference"]) == ("wrong", "not ranked")
    assert (wrong["lost"], wrong["below zero"], wrong["created"]) == ("1,234", "3", "-12")


def test_what_is_right_is_said_not_to_be_proven(section: Section):
    rows = [dict(zip(section.grids[1].columns, row, strict=True)) for row in section.grids[1].rows]
    assert rows[0]["verdict"].split() == ["no", "fault", "seen"]
    assert [row["× reference"] for row in rows] == ["reference", "not ranked", "0.50x [0.40, 0.60]", "not ranked", "–"]
    assert any("`iobound race` tries every order of statements" in text for text in section.text)


def test_levels_that_differ_from_most_are_named(section: Section):
    assert section.grids[1].rows[4][0] == "transaction, repeatable read"
    assert section.grids[1].rows[0][0] == "for-update-ordered"
    assert any(note.startswith("At read committed where nothing else is said.") for note in section.grids[1].notes)


def test_aborts_and_errors_are_listed(section: Section):
    last = [row[-1] for row in section.grids[1].rows]
    assert last == ["–", "–", "2 deadlocks, 1 busy", "50 errors", "–"]
    assert any("50 times InterfaceError: another operation" in note for note in section.grids[1].notes)


def test_only_what_is_right_is_coloured(section: Section):
    postgresql, sqlite = section.figures()
    assert postgresql.svg.count("var(--context)") == 2 * 2  # a point and an interval each
    assert "var(--context)" not in sqlite.svg
    assert len(postgresql.table.rows) == 5


def test_schedules_are_counted_by_outcome_under_each_model():
    table = {"AABB": "paid, refused: 0, 1", "ABAB": "paid, paid: -1, 1", "ABBA": "paid, paid: -1, 1"}
    rows = [
        summary("autocommit", "wrong", schedules=table),
        summary("autocommit", "wrong", model="asyncio", schedules={**table, "ABBA": "paid, refused: 0, 1"}),
    ]
    grid = transfer.section(*tour(), rows).grids[-1]
    assert list(grid.rows) == [
        ["autocommit, PostgreSQL", "paid, refused: 0, 1", "AABB", "1", "–", "2", "–"],
        ["autocommit, PostgreSQL", "paid, paid: -1, 1", "ABAB", "2", "–", "1", "–"],
    ]
    assert grid.notes[0] == "autocommit, PostgreSQL: 3 schedules, not all the same under all."
