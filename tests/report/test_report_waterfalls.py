"""The section of a walk: its steps, what bound them, whether they agree with the whole, and the picture of it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from msgspec.structs import replace

from iobound.records import BoundBy, Interval, StepRatio, Waterfall
from iobound.report import waterfalls


def step(factor: str, ratio: float | None, *bounds: BoundBy, **more: Any) -> StepRatio:
    interval = Interval(estimate=ratio, low=ratio * 0.95, high=ratio * 1.05) if ratio else None
    fields: dict[str, Any] = {"before": "old", "after": "new", "reason": None} | more
    return StepRatio(
        factor=factor, comparison=factor, ratio=interval, bound_by=list(bounds or ("target-cpu", "target-cpu")), **fields
    )


WHOLE = Interval(estimate=3.0, low=2.8, high=3.2)
FALL = Waterfall(
    id="walk",
    first="flask/waitress",
    last="starlette/uvicorn-uvloop",
    workload="plain",
    direct=WHOLE,
    bound_by=["target-cpu", "target-cpu"],
    reason=None,
    steps=[step("server", 2.0), step("framework", 0.75), step("sync or async", 2.0)],
    product=WHOLE,
    interaction=None,
    named=None,
    backwards=[],
    disagreeing=[],
    notes=["framework and server can't be changed alone here"],
)


def notes(fall: Waterfall, grid: int = 0) -> str:
    return " ".join(waterfalls.section(fall).grids[grid].notes)


def test_each_step_stands_with_its_interval_and_what_bound_it():
    (grid,) = waterfalls.section(FALL).grids
    assert [row[0] for row in grid.rows] == ["server", "framework", "sync or async"]
    assert grid.rows[1] == ["framework", "old", "new", "0.75x [0.71, 0.79]", "target CPU"]
    assert "agree within their intervals" in notes(FALL)
    assert "framework and server can't be changed alone here." in waterfalls.section(FALL).text


def test_two_ends_with_different_bounds_are_both_told():
    (grid,) = waterfalls.section(replace(FALL, steps=[step("server", 2.0, "target-cpu", "generator")])).grids
    assert grid.rows[0][-1] == "target CPU → generator"
    assert "wasn't the limit" not in " ".join(grid.notes)


@pytest.mark.parametrize("bound", ["database-cpu", "generator", "concurrency", "noise"])
def test_a_step_that_the_target_did_not_bound_is_labelled(bound: BoundBy):
    fall = replace(FALL, steps=[*FALL.steps, step("pool size", 1.0, bound, bound)])
    assert re.search("pool size: the target wasn't the limit, before or after, but ", notes(fall))


def test_an_interaction_is_shown_with_where_it_lies():
    fall = replace(FALL, interaction=Interval(estimate=1.5, low=1.4, high=1.6), named="no single factor shows it")
    assert "Interaction: the direct ratio is 1.50x [1.40, 1.60] of the product; no single factor shows it." in notes(fall)
    assert "agree" not in notes(fall)


def test_without_intervals_nothing_is_said_to_agree():
    one = replace(FALL, direct=Interval(estimate=3.0), product=Interval(estimate=3.0), reason="there was one launch")
    assert "agree" not in notes(one)
    assert "there was one launch" in notes(one)


def test_the_same_reason_is_told_once():
    said = notes(replace(FALL, steps=[replace(each, ratio=None, reason="it is too noisy") for each in FALL.steps]))
    assert said.count("too noisy") == 1
    assert "All steps: it is too noisy." in said


def test_the_other_order_stands_below_and_says_whether_it_matters():
    both = replace(FALL, backwards=FALL.steps[::-1])
    assert "No step is worth another ratio" in notes(both, 1)
    differing = replace(both, disagreeing=["server"], named="server is worth another ratio")
    assert "The order matters: server is worth another ratio." in notes(differing, 1)


def test_the_picture_has_a_bar_for_every_step_and_the_whole():
    (figure,) = waterfalls.section(FALL).figures()
    for name in ("server: old to new", "framework: old to new", "measured directly", "0.75x [0.71, 0.79]"):
        assert name in figure.svg
    assert list(figure.bounds) == ["target-cpu"]
    assert "var(--target-cpu)" in figure.svg


def test_long_names_are_told_by_what_they_lead_to():
    long = step("framework", 2.0, before="Flask + granian (WSGI)", after="Starlette, sync handlers + granian (ASGI) on uvloop")
    (figure,) = waterfalls.section(replace(FALL, steps=[long, *FALL.steps])).figures()
    assert "framework: to Starlette, sync handlers + granian (ASGI) on uvloop" in figure.svg


def test_nothing_is_drawn_of_nothing():
    assert waterfalls.section(replace(FALL, steps=[step("server", None)])).figures() == []
