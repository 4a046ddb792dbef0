"""What `iobound run calls` is going to measure."""

from __future__ import annotations

import sys

import pytest

from iobound.errors import UsageError
from iobound.experiments import calls
from iobound.lab import interpreters, primitives
from iobound.planning import Choice
from iobound.records import CallCell, Rounds

OWN = "{}.{}".format(*sys.version_info)


def plan(quick: bool = True, python: tuple[str, ...] = (OWN,), primitives: tuple[str, ...] = ()) -> Rounds:
    choice = Choice(quick=quick, first_available=lambda names: names[0], python=python, primitives=primitives)
    [rounds] = calls.plan(choice).scripts
    return rounds


def cells(rounds: Rounds) -> list[CallCell]:
    return [cell for cell in rounds.cells if isinstance(cell, CallCell)]


def test_every_family_that_the_interpreter_runs_on_each_of_its_loops():
    planned = cells(plan(quick=False))
    assert {cell.family for cell in planned} == set(primitives.families()) - {"coroutine"}  # which needs 3.10 or older
    assert {(cell.family, cell.loop) for cell in planned} >= {("asynchronous", "asyncio"), ("asynchronous", "uvloop")}
    assert len({cell.id for cell in planned}) == len(planned)


def test_the_plain_call_is_the_baseline_of_the_first_interpreter():
    assert plan().baseline == f"calls/{OWN}/plain"


def test_by_default_its_own_interpreter_and_the_oldest(monkeypatch):
    found = [cell.python for cell in cells(plan(python=()))]
    oldest = "{}.{}".format(*interpreters.oldest_python3().release)
    assert set(found) == {OWN, oldest}


def test_an_interpreter_that_is_missing_is_planned_once_to_be_told_of():
    planned = cells(plan(python=("3.99", OWN)))
    assert [cell.id for cell in planned if cell.python == "3.99"] == ["calls/3.99/plain"]
    assert len(planned) > 5


def test_python_2_has_what_needs_no_newer_syntax():
    if missing := interpreters.missing("2.7"):
        pytest.skip(missing)
    assert {cell.family for cell in cells(plan(python=("2.7",)))} == {"plain", "threads", "greenlets", "queries"}


def test_the_older_coroutines_are_planned_where_they_exist():
    if missing := interpreters.missing("3.8"):
        pytest.skip(missing)
    assert "coroutine" in {cell.family for cell in cells(plan(python=("3.8",)))}


def test_chosen_primitives_come_with_the_plain_call_that_they_are_held_against():
    planned = cells(plan(primitives=("greenlet-switch",)))
    assert {cell.family: cell.primitives for cell in planned} == {"plain": ["call"], "greenlets": ["greenlet-switch"]}


def test_an_unknown_primitive_is_answered_with_the_nearest():
    with pytest.raises(UsageError, match="unknown primitive 'greenlet-swich'; did you mean greenlet-switch"):
        plan(primitives=("greenlet-swich",))


def test_what_is_no_interpreter_is_refused():
    with pytest.raises(UsageError, match="--python"):
        plan(python=("three",))


def test_quick_is_quicker():
    quick, whole = plan(quick=True), plan(quick=False)
    assert (quick.budget_s, whole.budget_s) == (15.0, 45.0)
    assert quick.rounds < whole.rounds
    assert len(quick.cells) < len(whole.cells)
    assert cells(quick)[0].target_s < cells(whole)[0].target_s


def test_every_primitive_says_what_one_operation_is():
    for name, family in primitives.families().items():
        text = family.path.read_text()
        for primitive in primitives.names(name):
            assert f"def {primitive.replace('-', '_')}(times):\n" in text
