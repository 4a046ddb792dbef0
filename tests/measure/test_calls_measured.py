"""A launch of `calls` for real, and what stops one."""

from __future__ import annotations

import sys

import pytest
from msgspec.structs import replace

from iobound.errors import Unavailable
from iobound.lab.laboratory import Laboratory
from iobound.measure.rounds import Turn
from iobound.measure.scripts import calls
from iobound.records import CallCell

OWN = "{}.{}".format(*sys.version_info)
CELL = CallCell(
    id="calls/plain", python=OWN, family="plain", loop=None, primitives=["call", "wrapped-call"], target_s=0.001, values=20
)
FIRST = Turn(0, control=False, seed=1, quick=True)


def test_a_launch_keeps_every_value(laboratory: Laboratory):
    sample = calls.measure(CELL, FIRST, laboratory)
    assert (sample.cell, sample.launch, sample.control) == (CELL.id, 0, False)
    assert set(sample.timings) == {"call", "wrapped-call"}
    assert sample.errors == {}
    for timing in sample.timings.values():
        assert len(timing.ns) == 20
        assert timing.loops > 1000
    assert min(sample.timings["wrapped-call"].ns) > min(sample.timings["call"].ns)
    assert sample.ran["python"] == sys.version.split()[0]
    assert {"implementation", "build", "gil", "gc"} <= set(sample.ran)


def test_what_needs_packages_runs_in_the_locked_environment(laboratory: Laboratory):
    cell = replace(CELL, family="greenlets", primitives=["greenlet-switch"])
    assert calls.environments(CELL) == []
    assert calls.environments(cell) == [("calls", OWN)]
    assert "greenlet" in calls.measure(cell, FIRST, laboratory).ran


@pytest.mark.parametrize(("family", "loop"), [("queries", None), ("async_queries", "asyncio"), ("async_queries", "uvloop")])
def test_a_query_is_measured_on_a_database(laboratory: Laboratory, family: str, loop: str | None):
    cell = replace(CELL, family=family, loop=loop, service="postgresql", primitives=["query"])
    database = laboratory.service("postgresql")
    url = database.dataset(1)
    before = database.counters(url)
    sample = calls.measure(cell, FIRST, laboratory)
    after = database.counters(url)
    assert before
    assert after
    assert after.rows - before.rows >= sample.timings["query"].loops * 2


def test_a_missing_interpreter_is_named_with_what_installs_it(laboratory: Laboratory):
    with pytest.raises(Unavailable, match=r"uv python install 3\.99"):
        calls.measure(replace(CELL, python="3.99"), FIRST, laboratory)
