"""The programs of statements on SQLite: what they say of each phase, and what they refuse."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from iobound.lab import catalogue, drivers, environments, interpreters, scripts, things
from iobound.lab.laboratory import Laboratory

STATEMENTS = catalogue.FOLDER / "statements"
ROWS = 50
TIMES = {"select": 4, "point": 30, "wide": 2}
LIAR = """
import sqlite3
PLACEHOLDER = "?"
def ran(connection): return {}
class Connection:
    def __init__(self, raw):
        self.raw = raw
        self.rollback, self.close = raw.rollback, raw.close
        self.selects = 0
    def begin(self): self.raw.execute("BEGIN")
    def fileno(self): return None
    def execute(self, sql, parameters=()):
        rows = self.raw.execute(sql, parameters).fetchall()
        if sql == "SELECT * FROM test_things":
            self.selects += 1
            LIES
        return rows
def connect(url): return Connection(sqlite3.connect(url[len("sqlite:///"):], isolation_level=None))
"""


@pytest.fixture(scope="module")
def laboratory() -> Iterator[Laboratory]:
    with Laboratory() as shared:
        yield shared


def carried_out(
    laboratory: Laboratory,
    driver: str | Path = "sqlite3",
    program: str = "sync",
    inserts: int = ROWS,
    python: str | None = None,
    **other: Any,
) -> list[dict[str, Any]]:
    """Return what a program says."""
    rows = things.things(ROWS)
    job = {
        "url": things.make(laboratory.service("sqlite"), "drivers", rows[inserts:], rows),
        "things": rows,
        "inserts": inserts,
        "wides": things.wides(),
        "points": [7, 3],
        "times": TIMES,
        "most_s": 5.0,
        "services": [],
        "profiled": None,
        "sampled_s": 0.0,
        "answers": 2,
        **other,
    }
    files = {
        "program.py": STATEMENTS / f"{program}.py",
        "driver.py": driver if isinstance(driver, Path) else drivers.find(driver).path,
        "phases.py": STATEMENTS / "phases.py",
        "cpu_split.py": STATEMENTS / "cpu_split.py",
        "round_trips.py": catalogue.FOLDER / "round_trips.py",
    }
    packages = driver == "aiosqlite"
    environment = environments.environment(drivers.ENVIRONMENT) if packages else environments.bare(python)
    with scripts.launch("statements", files, environment, job) as script:
        return list(script.lines(60))


def phases(lines: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {line["phase"]: line for line in lines if "phase" in line}


@pytest.mark.parametrize(("driver", "program"), [("sqlite3", "sync"), ("aiosqlite", "async")])
def test_each_phase_carries_out_its_statements_and_returns_their_rows(laboratory: Laboratory, driver: str, program: str):
    lines = carried_out(laboratory, driver, program)
    found = {name: (line["statements"], line["rows"]) for name, line in phases(lines).items()}
    assert found == {"insert": (ROWS, 0), "select": (4, 4 * ROWS), "point": (30, 30), "wide": (2, 200)}
    for line in phases(lines).values():
        assert sum(line[f"{part}_ns"] for part in ("user", "system", "runqueue", "wait")) == line["wall_ns"]
    assert next(line for line in lines if "answers" in line)["bytes"] > ROWS * 30


@pytest.mark.parametrize("python", [asked for asked in ("2.7", "3.6", "3.13", "pypy3") if asked in interpreters.common()])
def test_other_interpreters_carry_them_out_too(laboratory: Laboratory, python: str):
    lines = carried_out(laboratory, python=python, profiled={"insert": 5, "select": 1, "point": 3, "wide": 1})
    assert phases(lines).keys() == {"insert", "select", "point", "wide"}
    assert lines[0]["ran"]["python"].split()[1].startswith("" if python == "pypy3" else python)
    assert {line["profiled"] for line in lines if "profiled" in line} == {"insert", "select", "point", "wide"}


def test_a_thread_of_the_driver_is_work_and_no_wait(laboratory: Laboratory):
    wide = phases(carried_out(laboratory, "aiosqlite", "async", times={**TIMES, "wide": 200}))["wide"]
    assert wide["threads_ns"] > 0.3 * (wide["user_ns"] + wide["system_ns"])
    assert wide["wait_ns"] < 0.2 * wide["wall_ns"]


def test_rows_that_are_there_already_need_not_be_inserted(laboratory: Laboratory):
    found = phases(carried_out(laboratory, inserts=10))
    assert (found["insert"]["statements"], found["select"]["rows"]) == (10, 4 * ROWS)


def test_a_phase_ends_when_its_time_is_over(laboratory: Laboratory):
    select = phases(carried_out(laboratory, times={**TIMES, "select": 10**9}, most_s=0.1))["select"]
    assert select["statements"] > 10
    assert select["rows"] == select["statements"] * ROWS


def test_calls_are_counted_exactly(laboratory: Laboratory):
    lines = carried_out(laboratory, profiled={"insert": 10, "select": 2, "point": 5, "wide": 1})
    calls = {line["profiled"]: line["calls"] for line in lines if "profiled" in line}
    more = carried_out(laboratory, profiled={"insert": 20, "select": 4, "point": 10, "wide": 2})
    twice = {line["profiled"]: line["calls"] for line in more if "profiled" in line}
    for phase, of in calls.items():
        assert of < twice[phase] <= 2 * of


@pytest.mark.parametrize(
    ("lie", "told"),
    [
        ("if self.selects == 3: rows.pop()", "select: 199 rows instead of 200"),
        ("if self.selects > 6: rows[9] = (10, 'another', 10.5)", "the row .*another.* instead of"),
        ("if self.selects == 2: rows.append(rows[0])", "select: 51 rows instead of 50"),
        ("rows = rows if rows else [(1, 'too early', 1.5)]", "select: 1 rows instead of 0"),
    ],
)
def test_wrong_rows_are_told(laboratory: Laboratory, tmp_path: Path, lie: str, told: str):
    (tmp_path / "liar.py").write_text(LIAR.replace("LIES", lie))
    lines = carried_out(laboratory, tmp_path / "liar.py")
    with pytest.raises(AssertionError, match=told):
        raise AssertionError(lines[-1]["bad"])
