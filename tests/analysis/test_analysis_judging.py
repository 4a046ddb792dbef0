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
    assert verdict.splitlines() == [
        "“Async is 3 times faster”? Here 2.97x to 6.84x (2 pairs). “With a database, async is 6 times faster”? Here 3.25x.",
        "No I/O, as published: aiohttp 6.84x [6.43, 7.28] and starlette 2.97x [2.85, 3.10] as many requests as flask; "
        "all bound by their own CPU.",
        "A list from the database, as published: starlette-sql@postgresql 3.25x [3.11, 3.40] as many requests as "
        "flask-sql@postgresql; both bound by their own CPU.",
        "Locust, as published, would have said 1.06x to 3.23x of those; it was itself the limit of 3 of its 5 figures.",
    ]


def test_other_experiments_are_summed_up_beside_the_published_ratios() -> None:
    of, seen = tour()
    named = {"a": 1000.0, "b": 1100.0}
    made = [cell(target, workload=workload) for workload in ("plain", "file") for target in named]
    cells = [msgspec.structs.replace(each, experiment="equal") for each in made]
    pairs = [comparison(cells[at : at + 2], f"equal/{at}", control=False) for at in (0, 2)]
    blocks = [
        trial(each, f"equal/{at // 2 * 2}", launch=launch, rps=named[each.target] * (1 + launch / 100), target=0.97)
        for at, each in enumerate(cells)
        for launch in range(3)
    ]
    whole = plan([*of.plan.comparisons, *pairs], [*of.plan.cells, *cells])
    first, *others = judge(header(whole), [*seen, *blocks]).verdict.splitlines()
    assert first.endswith(f" {pairs[0].question.capitalize()}: 1.1x.")
    assert "No I/O: b 1.10x [1.10, 1.10] as many requests as a; both bound by their own CPU." in others


def test_a_pair_is_summed_up_over_its_workloads() -> None:
    cells = [cell(target, workload=workload) for workload in ("plain", "file") for target in ("a", "b")]
    pairs = [comparison(cells[at : at + 2], f"own/{at}", control=False) for at in (0, 2)]
    blocks = [
        trial(each, f"own/{at // 2 * 2}", launch=launch, rps=(1000, 1500, 1000, 3000)[at] * (1 + launch / 100), target=0.97)
        for at, each in enumerate(cells)
        for launch in range(3)
    ]
    assert judge(header(plan(pairs, cells)), blocks).verdict.splitlines()[0] == "b against a: 1.5x to 3x."


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
    assert "as many" not in judgement.verdict
    assert "can't be ranked" in judgement.verdict


def test_a_tie_is_called_one() -> None:
    verdict = judge(*side_by_side({"a": [100.0, 110.0, 90.0], "b": [101.0, 90.0, 110.0]}, target=0.97)).verdict
    assert verdict == "No I/O: b can't be told apart from a; both bound by their own CPU."


def test_a_single_target_is_told_with_what_bound_it() -> None:
    verdict = judge(*side_by_side({"a": [100.0, 110.0, 90.0]}, target=0.97)).verdict
    assert verdict == "No I/O: a answers 100 [75, 125] requests a second; bound by its own CPU."


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
    assert "9" not in judgement.verdict.splitlines()[0]
