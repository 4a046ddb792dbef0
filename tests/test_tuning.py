"""Every contender is searched alike; the best is what is better beyond doubt."""

from __future__ import annotations

import pytest

from iobound import tuning
from iobound.errors import UsageError
from iobound.lab import catalogue
from iobound.records import Interval, Ranking, Setting, Workload

LIST = Workload(name="sql-list")
THREADED = catalogue.find("flask/gunicorn-gthread/psycopg")
LOOPED = catalogue.find("starlette/uvicorn-uvloop/asyncpg")


def setting(target: str, name: str, level: int, ratio: float, verdict: Ranking) -> Setting:
    return Setting(
        target=target,
        setting=name,
        level=level,
        default=10,
        ratio=Interval(estimate=ratio),
        verdict=verdict,
        reason=None,
        bound_by="target-cpu",
    )


def test_every_setting_that_a_target_has_is_tried_alike_from_its_default():
    question = tuning.search([THREADED, LOOPED], LIST, 20, cores=1)
    tried: dict[tuple[str, str], list[str]] = {}
    cells = {cell.id: cell for cell in question.cells}
    for comparison in question.comparisons:
        assert comparison.control
        assert comparison.baseline == comparison.cells[0]
        for id_ in comparison.cells:
            ((name, level),) = cells[id_].settings.items()
            tried.setdefault((cells[id_].target, name), []).append(level)
    assert {name for target, name in tried if target == THREADED.name} == {"WORKERS", "THREADS", "POOL_SIZE"}
    assert {name for target, name in tried if target == LOOPED.name} == {"WORKERS", "POOL_SIZE"}
    for name in ("WORKERS", "POOL_SIZE"):
        assert tried[THREADED.name, name] == tried[LOOPED.name, name]
        assert int(tried[LOOPED.name, name][0]) == tuning.DEFAULTS[name]


def test_workers_are_tried_within_the_cores():
    assert max(tuning.levels(1)["WORKERS"]) == 3
    assert max(tuning.levels(4)["WORKERS"]) == 9


def test_only_what_is_better_beyond_doubt_is_chosen():
    found = [
        setting("a", "POOL_SIZE", 3, 0.5, "slower"),
        setting("a", "POOL_SIZE", 20, 1.4, "faster"),
        setting("a", "POOL_SIZE", 50, 1.6, "faster"),
        setting("a", "THREADS", 20, 1.3, "tie"),
        setting("a", "WORKERS", 2, 1.9, "not-ranked"),
        setting("b", "WORKERS", 2, 1.9, "faster"),
    ]
    assert tuning.best("a", found) == {"POOL_SIZE": "50"}
    assert tuning.best("b", found) == {"WORKERS": "2"}


def test_default_is_held_against_best_and_best_against_best():
    tuned: dict[str, dict[str, str]] = {THREADED.name: {"POOL_SIZE": "50", "THREADS": "50"}, LOOPED.name: {}}
    question = tuning.final([THREADED, LOOPED], tuned, LIST, 20)
    assert [comparison.id for comparison in question.comparisons] == [
        tuning.gain_id(THREADED.name, LIST),
        tuning.bests_id(LIST),
    ]
    cells = {cell.id: cell for cell in question.cells}
    default, best = (cells[id_] for id_ in question.comparisons[0].cells)
    assert (default.settings, best.settings) == ({}, tuned[THREADED.name])
    assert {cells[id_].target: cells[id_].settings for id_ in question.comparisons[1].cells} == tuned


def test_one_target_whose_defaults_are_best_needs_no_second_run():
    assert not tuning.final([LOOPED], {LOOPED.name: {}}, LIST, 20).cells


def test_refuses_a_workload_that_a_target_does_not_serve():
    with pytest.raises(UsageError, match="doesn't serve the workload redis-get"):
        tuning.search([THREADED], Workload(name="redis-get"), 20, cores=1)
