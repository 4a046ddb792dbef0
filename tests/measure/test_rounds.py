"""Every cell once a round and the baseline twice, within the budget; what fails isn't tried again, what is noisy is."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from types import ModuleType

import pytest

from iobound.errors import BadAnswer, LabError, Unavailable
from iobound.lab.laboratory import Laboratory
from iobound.measure.rounds import RoundsSession, Turn
from iobound.records import Ending, Failure, Noise, Observation, Plan, Rounds, Sample, ScriptCell

QUIET = Noise(steal=0.0, foreign=0.0, pressure=None, quiet=True, because=None)
NOISY = Noise(steal=0.9, foreign=0.0, pressure=None, quiet=False, because="stolen")


class Level(ScriptCell, frozen=True, tag="calls"):
    pass


class Seen(Sample, frozen=True, tag="seen"):
    pass


def sample(cell: Level, turn: Turn, noise: Noise = QUIET) -> Seen:
    return Seen(cell=cell.id, launch=turn.launch, control=turn.control, started=0.0, noise=noise, ran={})


Measure = Callable[[Level, Turn, Laboratory], Seen]
Carry = Callable[..., list[Observation]]


@pytest.fixture
def carry(monkeypatch: pytest.MonkeyPatch) -> Carry:
    def carry(measure: Measure, *, rounds: int = 3, budget_s: float = 60.0, earlier: list[Observation] | None = None):
        module = ModuleType("iobound.measure.scripts.calls")
        module.measure = measure  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)
        cells = [Level(id=name) for name in "abc"]
        of = Rounds(experiment="calls", baseline="a", cells=cells, rounds=rounds, budget_s=budget_s)
        plan = Plan(
            experiments=["calls"], cells=[], comparisons=[], launches=3, blocks_per_launch=1, block_s=1.0, warmup_s=0.0,
            budget_s=0.0, precision=0.05, seed=1, quick=True, scripts=[of],
        )  # fmt: skip
        seen: list[Observation] = []
        with Laboratory() as laboratory:
            RoundsSession(plan, laboratory, seen.append, lambda what, share: None, earlier or []).run()
        return seen

    return carry


def launches(seen: list[Observation]) -> Counter[tuple[str, bool]]:
    return Counter((one.cell, one.control) for one in seen if isinstance(one, Seen))


def test_each_cell_once_a_round_and_the_baseline_twice(carry: Carry):
    seen = carry(lambda cell, turn, laboratory: sample(cell, turn))
    assert launches(seen) == {("a", False): 3, ("a", True): 3, ("b", False): 3, ("c", False): 3}
    assert {one.launch for one in seen if isinstance(one, Seen)} == {0, 1, 2}
    orders = {tuple(one.cell for one in seen if isinstance(one, Seen) and one.launch == n) for n in range(3)}
    assert len(orders) > 1
    assert seen[-1] == Ending(comparison="calls", why="launches", seconds=seen[-1].seconds)


def test_the_first_round_is_whole_however_small_the_budget(carry: Carry):
    def slow(cell: Level, turn: Turn, laboratory: Laboratory) -> Seen:
        time.sleep(0.02)
        return sample(cell, turn)

    seen = carry(slow, budget_s=0.01)
    assert sum(launches(seen).values()) == 4
    assert seen[-1].why == "budget"


@pytest.mark.parametrize(
    ("error", "stage"),
    [(BadAnswer("wrong"), "verify"), (Unavailable("none here"), "unavailable"), (LabError("dead"), "measure")],
)
def test_what_fails_is_told_once_and_the_others_go_on(carry: Carry, error: Exception, stage: str):
    def failing(cell: Level, turn: Turn, laboratory: Laboratory) -> Seen:
        if cell.id == "b":
            raise error
        return sample(cell, turn)

    seen = carry(failing)
    assert [(one.cell, one.stage, one.reason) for one in seen if isinstance(one, Failure)] == [("b", stage, str(error))]
    assert launches(seen)["c", False] == 3


def test_a_noisy_launch_is_measured_again_at_most_twice(carry: Carry):
    def noisy(cell: Level, turn: Turn, laboratory: Laboratory) -> Seen:
        return sample(cell, turn, NOISY if cell.id == "c" else QUIET)

    assert launches(carry(noisy, rounds=1)) == {("a", False): 1, ("a", True): 1, ("b", False): 1, ("c", False): 3}


def test_an_interrupted_run_goes_on_with_its_next_round(carry: Carry):
    def interrupted(cell: Level, turn: Turn, laboratory: Laboratory) -> Seen:
        if turn.launch == 1:
            raise KeyboardInterrupt
        return sample(cell, turn)

    first: list[Observation] = []

    def keeping(cell: Level, turn: Turn, laboratory: Laboratory) -> Seen:
        first.append(interrupted(cell, turn, laboratory))
        return first[-1]

    with pytest.raises(KeyboardInterrupt):
        carry(keeping)
    assert len(first) == 4
    again = carry(lambda cell, turn, laboratory: sample(cell, turn), earlier=first)
    assert {one.launch for one in again if isinstance(one, Seen)} == {1, 2}


def test_what_has_failed_before_an_interruption_neither_runs_again_nor_holds_up_the_others(carry: Carry):
    turns = {"a": 2, "b": 1, "c": 0}
    first: list[Observation] = [
        sample(Level(id=name), Turn(launch, False, 1, True)) for name, of in turns.items() for launch in range(of)
    ]
    first.append(Failure(cell="c", comparison="calls", launch=0, stage="unavailable", reason="isn't there"))
    again = carry(lambda cell, turn, laboratory: sample(cell, turn), earlier=first)
    assert launches(again) == {("a", False): 2, ("a", True): 2, ("b", False): 2}
    assert {one.launch for one in again if isinstance(one, Seen)} == {1, 2}
