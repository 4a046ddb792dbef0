from __future__ import annotations

from report_builders import plan, summary

from iobound.records import Judgement
from iobound.report import groups


def judged(*cells: object) -> Judgement:
    return Judgement(verdict="", cells=list(cells), ratios=[], controls=[], findings=[], claims=[], not_measured=[], endings=[])


def test_one_experiment_and_workload_stand_together_in_the_order_of_the_plan() -> None:
    cells = [
        summary("a", 1.0, workload="file"),
        summary("a", 1.0, workload="plain"),
        summary("b", 1.0, workload="file", view="fixed-rate"),
    ]
    found = groups.group(judged(*cells), plan(cells, {"web/file": "reading a file"}))
    assert [(group.title, [cell.target for cell in group.cells], group.views) for group in found] == [
        ("Reading a file (file)", ["a", "b"], ["capacity", "fixed-rate"]),
        ("Web (plain)", ["a"], ["capacity"]),
    ]


def test_names_tell_cells_apart_by_engine_and_by_settings_that_differ() -> None:
    cells = [
        summary("a", 1.0, settings={"WORKERS": "1"}),
        summary("a", 1.0, settings={"WORKERS": "4"}),
        summary("a", 1.0, settings={"WORKERS": "4"}, engine="wrk"),
    ]
    (found,) = groups.group(judged(*cells), plan(cells, {}))
    assert [found.name(cell) for cell in cells] == ["a (WORKERS=1)", "a (WORKERS=4)", "a (by wrk, WORKERS=4)"]
    assert found.shared_settings == {"POOL_SIZE": "10"}


def test_baseline_invalid_and_unranked_cells_are_told() -> None:
    cells = [summary("a", 1.0), summary("b", 2.0, invalid_because="wrong"), summary("c", 3.0)]
    made, said = plan(cells, {}), judged(*cells)
    assert [groups.against(cell, made, said) for cell in cells] == ["baseline", "not ranked", "–"]


def test_one_reason_is_said_once() -> None:
    cells = [summary(name, 1.0, invalid_because="noisy") for name in "abc"]
    made = plan(cells, {})
    (found,) = groups.group(judged(*cells), made)
    assert groups.notes(found, "capacity", made, judged(*cells)) == ["all: invalid: noisy"]
    mixed = [*cells[:2], summary("d", 1.0)]
    (found,) = groups.group(judged(*mixed), made)
    assert groups.notes(found, "capacity", made, judged(*mixed)) == ["a, b: invalid: noisy"]
