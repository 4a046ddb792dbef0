import pytest
import race_functions as functions

from iobound import race
from iobound.errors import UsageError


def verdict(function, model):
    report = race.explore(function, setup=functions.ONE_COUNTER, invariant=functions.counts, model=model)
    [level] = report.levels
    return level.verdict, level.schedules, level.violations


@pytest.mark.parametrize("model", ["threads", "processes", "gevent"])
def test_the_model_makes_no_difference(model):
    assert verdict(functions.increment, model) == ("violated", 50, 40)


def test_nor_does_asyncio():
    assert verdict(functions.increment_async, "asyncio") == ("violated", 50, 40)


@pytest.mark.parametrize("model", ["threads", "gevent"])
def test_a_lock_in_the_process_holds_in_one_process(model):
    assert verdict(functions.increment_under_lock, model) == ("holds", 2, 0)


def test_a_lock_of_tasks_holds_in_one_loop():
    assert verdict(functions.increment_async_under_lock, "asyncio") == ("holds", 2, 0)


def test_a_lock_in_the_process_does_nothing_for_several_processes():
    assert verdict(functions.increment_under_lock, "processes") == ("violated", 50, 40)


def test_sources_of_other_processes_are_known():
    report = race.explore(functions.increment, setup=functions.ONE_COUNTER, invariant=functions.counts, model="processes")
    assert all("race_functions.py:" in step.source for step in report.example.execution.steps)


def test_a_function_that_no_other_process_can_import_is_refused():
    with pytest.raises(UsageError, match="function of a module"):
        verdict(lambda: None, "processes")
