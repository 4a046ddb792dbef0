from __future__ import annotations

import math
import random

import msgspec
import pytest
from analysis_builders import cell, comparison, failure, header, load, plan, side_by_side, trial
from analysis_tour import tour

from iobound.analysis.judging import judge
from iobound.records import Ending, Judgement, Trial


def test_the_tours_verdict_in_words() -> None:
    verdict = judge(*tour()).verdict
    assert "No I/O: aiohttp-as-published answers 6.84x [6.43, 7.28] as many requests as flask-as-published" in verdict
    assert "published: 3.14x; Locust would have said 1.5x, itself the limit" in verdict
    assert "All were bound by their own CPU." in verdict
    assert "starlette-sql-as-published@postgresql answers 3.25x" in verdict
    assert "published: 6.65x; Locust would have said 3.23x)" in verdict
    told = "Of 3 published ratios, 1 holds and 2 fail here; the target's own CPU bound 7 of 10 capacities."
    assert verdict.splitlines()[0] == told
    assert 'Limited by the load generator, and not ranked: 3 cells that "at least" is said of.' in verdict


def test_a_judgement_is_a_pure_function_and_can_be_written() -> None:
    of, seen = tour()
    first = judge(of, seen)
    random.Random(3).shuffle(seen)
    assert judge(of, seen) == first
    assert msgspec.json.decode(msgspec.json.encode(first), type=Judgement) == first


def test_a_run_that_was_read_back_is_judged_alike() -> None:
    of, seen = tour()
    read = [msgspec.json.decode(msgspec.json.encode(each), type=Trial) for each in seen]
    assert judge(of, read) == judge(of, seen)


@pytest.mark.parametrize("kept", [0, 1, 2, 5, 11, 17, 26, 29])
def test_an_interrupted_run_is_judged_by_what_there_is(kept: int) -> None:
    of, seen = tour()
    judgement = judge(of, [*seen[:kept], Ending(comparison=of.plan.comparisons[0].id, why="interrupted", seconds=1.0)])
    begun = {(trial.comparison, trial.cell) for trial in seen[:kept] if isinstance(trial, Trial) and not trial.control}
    assert {(each.comparison, each.id) for each in judgement.cells} == begun
    assert len(judgement.not_measured) == len(of.plan.cells) - len(begun)
    assert all(each.reason == "the run ended before it was its turn" for each in judgement.not_measured)
    assert [each.why for each in judgement.endings] == ["interrupted"]
    assert judgement.verdict


def test_nothing_valid_is_said_so() -> None:
    of, seen = side_by_side({"a": [100.0], "b": [200.0]}, errors={"timeout": 50})
    judgement = judge(of, seen)
    assert judgement.verdict.startswith("Nothing that was measured means anything.\n2 cells are invalid")
    assert "50 timeout" in judgement.verdict
    assert {ratio.verdict for ratio in judgement.ratios} == {"not-ranked"}


def test_one_launch_has_numbers_without_intervals_and_no_ranking() -> None:
    judgement = judge(*side_by_side({"a": [100.0], "b": [200.0]}, [100.0], target=0.97))
    for each in judgement.cells:
        assert each.valid
        assert each.requests_per_second is not None
        assert (each.requests_per_second.low, each.requests_per_second.high) == (None, None)
    assert [ratio.verdict for ratio in judgement.ratios] == ["not-ranked"]
    assert judgement.controls[0].detectable is None
    assert "x as many" not in judgement.verdict
    assert "can't be ranked" in judgement.verdict


def test_a_tie_is_called_one() -> None:
    verdict = judge(*side_by_side({"a": [100.0, 110.0, 90.0], "b": [101.0, 90.0, 110.0]}, target=0.97)).verdict
    assert verdict == "No I/O: b can't be told apart from a. Both were bound by their own CPU."


def test_a_single_target_is_told_with_what_bound_it() -> None:
    verdict = judge(*side_by_side({"a": [100.0, 110.0, 90.0]}, target=0.97)).verdict
    assert verdict == "No I/O: a answers 100 [75.2, 125] requests a second. a was bound by its own CPU."


def test_a_verdict_without_a_capacity_says_so() -> None:
    verdict = judge(*side_by_side({"a": [100.0, 110.0]}, engine="locust:HttpUser")).verdict
    assert verdict == "1 cell measured, none of them a capacity found by iobound's own engine."
    of, _ = tour()
    assert judge(of, []).verdict == "Nothing was measured."


def test_what_wasnt_measured_says_why() -> None:
    cells = [cell("a"), cell("b"), cell("c")]
    of = header(plan([comparison(cells)], cells))
    judgement = judge(of, [trial(cells[0]), failure(cells[1], "unavailable", "no mariadbd; apt-get install mariadb-server")])
    assert [(each.cell, each.reason) for each in judgement.not_measured] == [
        (cells[1].id, "no mariadbd; apt-get install mariadb-server"),
        (cells[2].id, "the run ended before it was its turn"),
    ]
    assert [each.target for each in judgement.cells] == ["a"]


def test_lies_never_reach_a_ranking() -> None:
    cells = [cell("honest"), cell("fast error pages"), cell("minus one"), cell("no number"), cell("control mixed in")]
    of = header(plan([comparison(cells)], cells))
    nan = load(in_flight_mean=math.nan)
    seen = [
        *(trial(cells[0], launch=n, rps=1000, target=0.97) for n in range(3)),
        *(trial(cells[1], launch=n, rps=9000, target=0.97, status="500") for n in range(3)),
        *(trial(cells[2], launch=n, rps=9000, target=0.97, bytes_received=-1) for n in range(3)),
        *(trial(cells[3], launch=n, target=0.97, result=nan) for n in range(3)),
        *(trial(cells[4], launch=n, rps=1000, target=0.97) for n in range(3)),
        *(trial(cells[4], launch=n, rps=90_000, target=0.97, control=True) for n in range(3)),
    ]
    judgement = judge(of, seen)
    assert {ratio.cell: ratio.verdict for ratio in judgement.ratios} == {
        cells[1].id: "not-ranked",
        cells[2].id: "not-ranked",
        cells[3].id: "not-ranked",
        cells[4].id: "tie",
    }
    assert "9" not in judgement.verdict.partition(". ")[0]
