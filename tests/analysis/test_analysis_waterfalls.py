"""Steps of known ratios: their product, where it misses the direct ratio, and where the order matters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import msgspec
import pytest
from analysis_builders import cell, comparison, failure, header, plan, trial
from scipy import stats

from iobound.analysis.judging import judge
from iobound.records import Observation, Step, Walk, Waterfall

WOBBLE = (0.99, 1.0, 1.01)


def fall(
    direct: float,
    steps: dict[str, float],
    back: dict[str, float] | None = None,
    tool: float | None = None,
    wobbles: Mapping[str, Sequence[float]] = MappingProxyType({}),
    noisy: str | None = None,
) -> tuple[Waterfall, str]:
    """Judge a walk whose comparisons show these ratios, all but the one that is `noisy`.

    `wobbles` is how those of a comparison differ between launches.
    """
    comparisons, cells, seen = [], [], list[Observation]()

    def compared(name: str, ratio: float, engine: str = "iobound") -> str:
        pair = [cell(target, id_=f"{name}/{target}", engine=engine) for target in ("a", "b")]
        cells.extend(pair)
        comparisons.append(comparison(pair, name, control=False))
        for launch, wobble in enumerate(wobbles.get(name, WOBBLE)):
            seen.append(trial(pair[0], name, launch=launch, rps=100.0))
            seen.append(trial(pair[1], name, launch=launch, rps=100.0 * ratio * wobble, quiet=name != noisy))
        return name

    def walked(direction: str, ratios: dict[str, float]) -> list[Step]:
        return [
            Step(factor=factor, before="old", after="new", comparison=compared(f"{direction}/{factor}", ratio))
            for factor, ratio in ratios.items()
        ]

    walk = Walk(
        id="walk", first="a", last="b", workload="plain", direct=compared("direct", direct),
        forwards=walked("forwards", steps), backwards=walked("backwards", back or {}),
        tool=compared("tool", tool, "locust:HttpUser") if tool else None,
    )  # fmt: skip
    judgement = judge(header(msgspec.structs.replace(plan(comparisons, cells), walks=[walk])), seen)
    return judgement.waterfalls[0], judgement.verdict


def test_the_product_of_the_steps_is_the_direct_ratio():
    found, said = fall(6.0, {"server": 2.0, "framework": 1.5, "sync or async": 2.0})
    assert [step.ratio.estimate for step in found.steps if step.ratio] == pytest.approx([2.0, 1.5, 2.0], rel=0.001)
    assert found.product and found.product.estimate == pytest.approx(6.0, rel=0.001)
    assert found.interaction is None
    assert "6.0" in said or "6.00" in said
    assert "server (old to new) 2.0" in said


def test_independent_errors_add_in_squares():
    one = fall(2.0, {"server": 2.0})[0].product
    four = fall(16.0, dict.fromkeys(("a", "b", "c", "d"), 2.0))[0].product
    assert one and one.low and one.high and four and four.low and four.high
    # twice the error, but with eight degrees of freedom rather than two
    narrower = stats.t.ppf(0.975, 8) / stats.t.ppf(0.975, 2)
    assert math.log(four.high / four.low) == pytest.approx(2 * narrower * math.log(one.high / one.low), rel=0.01)


def test_an_interaction_is_shown_and_named():
    found, _ = fall(3.0, {"server": 2.0, "pool": 1.0}, {"pool": 1.5, "server": 2.0})
    assert found.interaction and found.interaction.estimate == pytest.approx(1.5, rel=0.001)
    assert found.disagreeing == ["pool"]
    assert found.named == "pool is worth another ratio when it is changed at another point of the way"


def test_a_factor_that_matters_only_beside_another_is_named_with_it():
    # B does nothing without A: the product is the direct ratio either way, and it is the order that shows it
    found, said = fall(3.0, {"A": 1.5, "B": 2.0}, {"B": 1.0, "A": 3.0})
    assert found.interaction is None
    assert set(found.disagreeing) == {"A", "B"}
    assert "The order matters" in said


def test_of_many_steps_some_differ_by_chance():
    # Student's t for "a" alone: p = 0.02, one in fifty, and there are a dozen
    many = dict.fromkeys("abcdefghijkl", 1.5)
    wobbles = {"forwards/a": (1.0, 1.01, 1.02), "backwards/a": (1.045, 1.055, 1.03)}
    assert fall(1.5**12, many, many, wobbles=wobbles)[0].disagreeing == []
    assert fall(1.5, {"a": 1.5}, {"a": 1.5}, wobbles=wobbles)[0].disagreeing == ["a"]


def test_one_that_no_order_shows_is_said_to_be_so():
    found, _ = fall(3.0, {"server": 2.0})
    assert found.interaction
    assert found.named == "no single factor shows it: the steps miss it together"


def test_orders_that_agree_disagree_in_nothing():
    found, _ = fall(3.0, {"server": 2.0, "pool": 1.5}, {"pool": 1.5, "server": 2.0})
    assert found.disagreeing == []
    assert found.interaction is None


def test_the_load_tool_is_the_first_factor_of_a_published_ratio():
    found, _ = fall(3.0, {"server": 3.0}, tool=1.5)
    assert found.direct and found.direct.estimate == pytest.approx(1.5, rel=0.001)
    assert found.notes == ["with iobound's own engine it is 3.00x [2.93, 3.08] between the two ends"]
    assert found.steps[0].factor == "load tool"
    assert found.steps[0].ratio and found.steps[0].ratio.estimate == pytest.approx(0.5, rel=0.001)
    assert found.interaction is None


def test_the_error_of_the_load_tool_is_no_part_of_the_interaction():
    # it is in the direct ratio and in the product, and what one holds against the other is iobound's own
    wild = {"tool": (0.7, 1.0, 1.4)}
    without, _ = fall(3.0, {"server": 2.0})
    with_tool, _ = fall(3.0, {"server": 2.0}, tool=1.5, wobbles=wild)
    assert without.interaction
    assert with_tool.interaction == without.interaction
    assert with_tool.product and with_tool.product.low and with_tool.product.low < 0.9 * with_tool.product.estimate


def test_what_the_load_tool_and_the_engine_share_in_a_launch_cancels():
    shared = {"direct": (0.8, 1.0, 1.25), "tool": (0.8, 1.0, 1.25)}
    tool = fall(3.0, {"server": 3.0}, tool=1.5, wobbles=shared)[0].steps[0].ratio
    assert tool and tool.low and tool.high
    assert tool.high / tool.low < 1.02


def test_launches_of_which_there_is_one_tell_of_no_agreement():
    one = dict.fromkeys(("direct", "forwards/server"), (1.0,))
    found, _ = fall(3.0, {"server": 2.0}, wobbles=one)
    assert found.direct and found.direct.low is None
    assert found.interaction is None


@pytest.mark.parametrize("noisy", ["direct", "forwards/server"])
def test_what_is_invalid_has_no_ratio(noisy: str):
    found, said = fall(3.0, {"server": 2.0}, noisy=noisy)
    assert (found.direct is None) == (noisy == "direct")
    assert (found.product is None) == (noisy != "direct")
    assert found.interaction is None
    assert said.startswith("b against a (plain) can't be told: it is invalid") == (noisy == "direct")


def test_a_step_that_was_not_measured_leaves_no_product():
    found, _ = fall(3.0, {"server": 2.0})
    walk = Walk(
        id="walk", first="a", last="b", workload="plain", direct="direct",
        forwards=[Step(factor="server", before="x", after="y", comparison="never")],
    )  # fmt: skip
    pair = [cell(target, id_=f"direct/{target}") for target in ("a", "b")]
    seen: list[Observation] = [trial(one, "direct", launch=n, rps=100.0) for one in pair for n in range(3)]
    made = msgspec.structs.replace(plan([comparison(pair, "direct")], pair), walks=[walk])
    found = judge(header(made), seen).waterfalls[0]
    assert found.product is None
    assert found.steps[0].reason == "it wasn't measured"
    told = judge(header(made), [*seen, failure(cell("c", id_="never/c"), comparison="never")]).waterfalls[0]
    assert told.steps[0].reason == "port in use"


@pytest.mark.parametrize(
    ("whole", "step", "result", "share"),
    [(4.0, 2.2, "holds", 0.57), (4.0, 1.1, "fails", 0.07), (4.0, 2.0, "not-measured", 0.5), (1.0, 1.1, "not-measured", None)],
)
def test_releasing_connections_is_judged_by_its_step(whole: float, step: float, result: str, share: float | None):
    programs = ("flask-sql-as-published", "starlette-sql-as-published")
    comparisons, cells, seen = [], [], list[Observation]()
    for name, ratio in {"direct": whole, "release": step}.items():
        pair = [cell(target, id_=f"{name}/{target}", workload="sql-list") for target in programs]
        cells.extend(pair)
        comparisons.append(comparison(pair, name, control=False))
        for launch, wobble in enumerate(WOBBLE):
            seen.append(trial(pair[0], name, launch=launch, rps=100.0))
            seen.append(trial(pair[1], name, launch=launch, rps=100.0 * ratio * wobble))
    release = Step(factor="releasing a connection", before="reset", after="as it is", comparison="release")
    walk = Walk(id="walk", first=programs[0], last=programs[1], workload="sql-list", direct="direct", forwards=[release])
    claims = judge(header(msgspec.structs.replace(plan(comparisons, cells), walks=[walk])), seen).claims
    (claim,) = [claim for claim in claims if claim.claim == "releasing-connections"]
    assert claim.result == result
    assert (claim.here.estimate if claim.here else None) == (share if share is None else pytest.approx(share, abs=0.01))
