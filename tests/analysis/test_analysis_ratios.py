from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from analysis_builders import cell, comparison, environment, failure, header, load, plan, service_use, side_by_side, trial

from iobound.analysis.judging import judge
from iobound.records import Cell, Observation, Ratio, RunHeader

STEADY = [1000.0, 1010.0, 990.0, 1005.0, 995.0]
AGAIN = [1005.0, 1000.0, 1000.0, 1000.0, 990.0]


def ratios(run: tuple[RunHeader, Sequence[Observation]]) -> list[Ratio]:
    return judge(*run).ratios


def pair(contender: Sequence[Observation], base: Sequence[Observation], cells: list[Cell]) -> Ratio:
    (ratio,) = ratios((header(plan([comparison(cells)], cells)), [*base, *contender]))
    return ratio


def test_a_ratio_with_its_interval() -> None:
    (ratio,) = ratios(side_by_side({"a": STEADY, "b": [value * 1.42 for value in STEADY[::-1]]}, AGAIN, target=0.97))
    assert ratio.metric == "requests_per_second"
    assert ratio.verdict == "faster"
    assert ratio.ratio is not None
    assert ratio.ratio.low is not None
    assert ratio.ratio.high is not None
    assert 1.37 < ratio.ratio.low < 1.42 < ratio.ratio.high < 1.47


def test_slower_and_tie() -> None:
    run = side_by_side({"a": STEADY, "half": [v / 2 for v in STEADY], "alike": STEADY[::-1]}, AGAIN, target=0.97)
    verdicts = {ratio.cell.rsplit("/", 1)[1]: (ratio.verdict, ratio.reason) for ratio in ratios(run)}
    assert verdicts == {"half": ("slower", None), "alike": ("tie", "the interval contains 1")}


def test_nothing_below_what_the_control_shows_is_a_difference() -> None:
    contender = [value * 1.05 for value in STEADY]
    (surely,) = ratios(side_by_side({"a": STEADY, "b": contender}, AGAIN, target=0.97))
    assert surely.verdict == "faster"
    (hardly,) = ratios(side_by_side({"a": STEADY, "b": contender}, [value * 1.2 for value in AGAIN], target=0.97))
    assert hardly.verdict == "tie"
    assert hardly.reason is not None
    assert "A against A" in hardly.reason


def test_nothing_is_a_difference_while_the_control_that_was_asked_for_is_missing() -> None:
    cells = [cell("a"), cell("b")]
    seen = [trial(each, launch=n, target=0.97, rps=(1000, 3000)[each.target == "b"] + n) for each in cells for n in range(3)]
    assert pair(seen, [], cells).verdict == "not-ranked"
    (uncontrolled,) = ratios((header(plan([comparison(cells, control=False)], cells)), seen))
    assert uncontrolled.verdict == "faster"


def test_holm_over_many_contenders_is_stricter_than_one_alone() -> None:
    slight = [1020.0, 1045.0, 1000.0, 1030.0, 1000.0]
    (alone,) = ratios(side_by_side({"a": STEADY, "b": slight}, target=0.97))
    among = ratios(
        side_by_side({"a": STEADY, "b": slight} | {f"same {n}": STEADY[n:] + STEADY[:n] for n in range(1, 5)}, target=0.97)
    )
    assert alone.verdict == "faster"
    assert among[0].verdict == "tie"
    assert alone.ratio is not None
    assert among[0].ratio is not None
    assert alone.ratio.estimate == among[0].ratio.estimate


def test_one_launch_ranks_nothing() -> None:
    (ratio,) = ratios(side_by_side({"a": [1000.0], "b": [3000.0]}, [1000.0], target=0.97))
    assert ratio.verdict == "not-ranked"
    assert ratio.ratio is not None
    assert (ratio.ratio.estimate, ratio.ratio.low) == (pytest.approx(3.0), None)


OBSTACLES: dict[str, tuple[dict[str, Any], str]] = {
    "the generator was the limit": ({"generator": 0.97, "target": 0.2}, "limited by the load generator"),
    "errors": ({"errors": {"timeout": 100}}, "it is invalid: 9.0% of the requests failed"),
    "wrong answers": ({"errors": {"wrong-body": 1}}, "it is invalid: wrong bodies: 3"),
    "noise": ({"quiet": False}, "it is invalid: no block was quiet"),
    "error pages, fast": ({"status": "503"}, "it is invalid: a law is broken"),
    "half the statements": ({"service": service_use(1010, statements=0.5)}, "0.5 data statements a request against 1"),
    "fewer rows": ({"service": service_use(1010, rows=97)}, "97 rows a request against 100"),
}


@pytest.mark.parametrize(("changes", "reason"), OBSTACLES.values(), ids=OBSTACLES)
@pytest.mark.parametrize("which", ["contender", "baseline"])
def test_what_isnt_comparable_isnt_ranked(changes: dict[str, Any], reason: str, which: str) -> None:
    cells = [cell("a", service="postgresql"), cell("b", service="postgresql")]
    good: dict[str, Any] = {"target": 0.97, "service": service_use(1010)}
    spoilt = cells[which == "contender"]
    seen = [trial(each, launch=n, **(good | (changes if each is spoilt else {}))) for each in cells for n in range(3)]
    (ratio,) = ratios((header(plan([comparison(cells)], cells)), seen))
    assert ratio.verdict == "not-ranked"
    assert ratio.reason is not None
    if "against" in reason and which == "baseline":
        assert "they don't do the same work" in ratio.reason
    else:
        assert reason.replace("it is", "it is" if which == "contender" else "the baseline is") in ratio.reason


def test_transaction_control_and_abandoned_requests_dont_make_another_work() -> None:
    cells = [cell("a", service="postgresql"), cell("b", service="postgresql")]
    counted = {"a": service_use(210, control=0), "b": service_use(201, control=2)}  # of b's 10 abandoned, 9 never arrived
    seen = [trial(each, launch=n, rps=200, target=0.97, service=counted[each.target]) for each in cells for n in range(3)]
    ratio = pair(seen, [], cells)
    assert ratio.verdict == "tie"


def test_another_engine_isnt_compared() -> None:
    cells = [cell("a"), cell("a", engine="wrk")]
    seen = [trial(each, launch=n, target=0.97, rps=1000 + n) for each in cells for n in range(3)]
    ratio = pair(seen, [], cells)
    assert (ratio.verdict, ratio.reason) == ("not-ranked", "another engine: wrk against iobound")


def test_the_fixed_rate_compares_cpu_and_less_is_faster() -> None:
    cells = [cell(name, view="fixed-rate", rate=400.0) for name in ("a", "lean", "fat")]
    burnt = {"a": 0.4, "lean": 0.2, "fat": 0.8}
    seen = [
        trial(each, launch=n, rps=400 + n, response_ms=2.0, unanswered=0, target=burnt[each.target] + n / 1000)
        for each in cells
        for n in range(3)
    ]
    found = ratios((header(plan([comparison(cells, control=False)], cells)), seen))
    assert [(each.metric, each.verdict) for each in found] == [("cpu_us_per_request", v) for v in ("faster", "slower")]
    assert found[0].ratio is not None
    assert found[0].ratio.estimate == pytest.approx(0.5, rel=0.01)


def test_the_control_is_judged_apart() -> None:
    judgement = judge(*side_by_side({"a": STEADY, "b": STEADY}, [value * 1.1 for value in STEADY], target=0.97))
    (control,) = judgement.controls
    assert control.ratio is not None
    assert control.ratio.estimate == pytest.approx(1.1)
    assert control.detectable == pytest.approx(0.1, abs=0.001)
    assert [each.cell for each in judgement.ratios] == [judgement.cells[1].id]


def test_a_missing_baseline_or_contender_leaves_no_ratio() -> None:
    cells = [cell("a"), cell("b")]
    of = header(plan([comparison(cells)], cells))
    assert ratios((of, [trial(cells[1], launch=n) for n in range(3)])) == []
    assert ratios((of, [trial(cells[0], launch=n) for n in range(3)])) == []
    (broken,) = ratios((of, [*(trial(cells[0], launch=n) for n in range(3)), failure(cells[1], "verify", "wrong bytes")]))
    assert (broken.verdict, broken.ratio, broken.reason) == ("not-ranked", None, "it is invalid: wrong bytes")


def test_launches_that_dont_overlap_cant_be_paired() -> None:
    cells = [cell("a"), cell("b")]
    seen = [trial(cells[0], launch=0), trial(cells[1], launch=1)]
    ratio = pair(seen, [], cells)
    assert (ratio.verdict, ratio.reason) == ("not-ranked", "they have no launch in common")


def test_a_cell_saturating_what_it_shares_is_ranked_by_what_bound_it() -> None:
    one = environment(cores=[0], target_cores=[0], other_cores=[0], shared_cores="all share core 0")
    of, seen = side_by_side({"a": STEADY, "b": [v * 2 for v in STEADY]}, AGAIN, target=0.7, generator=0.28)
    judgement = judge(msgspec.structs.replace(of, environment=one), seen)
    assert {each.bound_by for each in judgement.cells} == {"target-cpu"}
    assert judgement.ratios[0].verdict == "faster"
    assert load().engine == "iobound"
