"""What goes wrong with one contender is told, and the others are measured all the same."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from iobound.lab.commands import CommandTarget
from iobound.load.spec import Exchange
from iobound.planning import SideBySide
from iobound.records import Ending, Failure, Observation, Trial, Workload

PROGRAMS = Path(__file__).parent / "programs"
Measure = Callable[..., list[Observation]]


def command(name: str, what: str, *arguments: str, exchange: Exchange | None = None) -> CommandTarget:
    argv = [sys.executable, str(PROGRAMS / "service.py"), what, "{port}", *arguments]
    return CommandTarget(name, argv, [exchange or Exchange(path="/", status=200)])


def observed(measure: Measure, *targets: CommandTarget, **options: float) -> tuple[dict[str, Failure], set[str]]:
    """Measure `targets` side by side; return the failures by target, and the targets that have trials."""
    pair = SideBySide("test", "", targets, Workload(name="/"))
    question = pair.capacity(4, control=False)
    seen = measure(question, *targets, **options)
    names = {cell.id: cell.target for cell in question.cells}
    failures = {names[one.cell]: one for one in seen if isinstance(one, Failure)}
    return failures, {names[one.cell] for one in seen if isinstance(one, Trial)}


GOOD = command("good", "sleep", "1")


def test_one_that_does_not_start(measure: Measure):
    broken = CommandTarget("broken", [sys.executable, "-c", "raise SystemExit('no cheese')", "{port}"], [Exchange()])
    failures, measured = observed(measure, broken, GOOD)
    assert failures["broken"].stage == "start"
    assert "no cheese" in failures["broken"].reason
    assert measured == {"good"}


def test_one_that_answers_wrong_bytes(measure: Measure):
    wrong = command("wrong", "sleep", "1", exchange=Exchange(path="/", status=200, answer=b"no"))
    failures, measured = observed(measure, wrong, GOOD)
    assert failures["wrong"].stage == "verify"
    assert "b'ok' instead of b'no'" in failures["wrong"].reason
    assert measured == {"good"}


def test_one_that_dies_midway(measure: Measure):
    failures, measured = observed(measure, command("mortal", "die"), GOOD)
    assert failures["mortal"].stage == "measure"
    assert "out of cheese" in failures["mortal"].reason
    assert "good" in measured


def test_one_that_failed_is_not_tried_again(measure: Measure):
    pair = SideBySide("test", "", [command("mortal", "die"), GOOD], Workload(name="/"))
    seen = measure(pair.capacity(4, control=False), *pair.targets, launches=3)
    assert len([one for one in seen if isinstance(one, Failure)]) == 1
    assert {one.launch for one in seen if isinstance(one, Trial)} == {0, 1, 2}


def test_failing_answers_are_counted_and_are_no_success(measure: Measure):
    """The server answers 500 from its 51st request on."""
    failing = command("failing", "fail")
    question = SideBySide("test", "", [failing], Workload(name="/")).capacity(4, control=False)
    trials = [one for one in measure(question, failing) if isinstance(one, Trial)]
    assert sum(trial.load.responses for trial in trials) <= 50
    for trial in trials[1:]:
        assert trial.load.responses == 0
    assert trials[-1].load.errors["bad-status"] == trials[-1].load.status["500"] > 0


def test_rows_that_never_arrive_are_seen(measure: Measure):
    """A server that acknowledges inserts and writes nothing: the database has fewer rows than were acknowledged."""
    liar = CommandTarget("liar", command("", "sleep", "1").argv, [Exchange(path="/", status=200)], service="postgresql")
    question = SideBySide("test", "", [liar], Workload(name="sql-insert")).capacity(4, control=False)
    trial = next(one for one in measure(question, liar) if isinstance(one, Trial))
    assert trial.load.responses > 0
    assert trial.rows_written == 0


def test_the_fixed_rate_is_half_of_the_slowest(measure: Measure):
    slow, fast = command("slow", "sleep", "20"), command("fast", "sleep", "1")
    pair = SideBySide("test", "", [slow, fast], Workload(name="/"))
    seen = measure(pair.capacity(4) + pair.fixed_rate(4, None), slow, fast)
    trials = [one for one in seen if isinstance(one, Trial)]
    capacities = [one.load.responses / one.load.seconds for one in trials if one.cell == "test///capacity/c4/slow"]
    rates = {one.load.rate for one in trials if "fixed-rate" in one.cell}
    [rate] = rates
    assert rate is not None
    assert 0.4 < rate / (sum(capacities) / len(capacities)) < 0.6


def test_the_control_is_a_second_launch_of_the_baseline(measure: Measure):
    pair = SideBySide("test", "", [GOOD, command("other", "sleep", "2")], Workload(name="/"))
    trials = [one for one in measure(pair.capacity(2), *pair.targets) if isinstance(one, Trial)]
    assert {(one.cell.rpartition("/")[2], one.control) for one in trials} == {("good", False), ("good", True), ("other", False)}


def test_the_price_is_measured_on_the_baseline_with_the_probes_off(measure: Measure):
    target = CommandTarget("pinged", command("", "ping").argv, GOOD.asked, service="postgresql")
    pair = SideBySide("test", "", [target], Workload(name="/"))
    trials = [one for one in measure(pair.capacity(2), target) if isinstance(one, Trial)]
    bare = [one for one in trials if one.bare]
    assert bare
    assert all(one.service is None and one.load.responses > 0 for one in bare)
    assert all(one.service and one.service.statements["select"] >= one.load.responses for one in trials if not one.bare)


def test_every_comparison_says_why_it_ended(measure: Measure):
    pair = SideBySide("test", "", [GOOD], Workload(name="/"))
    seen = measure(pair.capacity(1) + pair.fixed_rate(1, 20), GOOD)
    assert {one.comparison for one in seen if isinstance(one, Ending)} == {"test///capacity/c1", "test///fixed-rate/c1"}


def test_the_fixed_rate_is_half_of_what_as_many_connections_reach(measure: Measure):
    """One connection to a handler that sleeps 20 ms asks 50 times a second, eight ask 400 times."""
    target = command("sleeper", "sleep", "20")
    alone = SideBySide("test", "", [target], Workload(name="/"))
    question = alone.capacity(1, control=False) + alone.capacity(8, control=False) + alone.fixed_rate(8, None)
    rates = {one.load.rate for one in measure(question, target) if isinstance(one, Trial) and "fixed-rate" in one.cell}
    [rate] = rates
    assert rate is not None
    assert rate > 60
