"""What is said of primitives whose cost is given."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest
from analysis_builders import QUIET, header, plan

from iobound.analysis.sampled import Judged
from iobound.analysis.scripts import calls
from iobound.records import CallCell, CallSample, CallSummary, ClaimResult, Rounds
from iobound.records.calls import Timing

SIX = 12.5 / 2.1

Costs = Mapping[tuple[str, str | None], float]


def judged(
    of: Mapping[str, Costs], *, launches: int = 3, drift: float = 0.01, control: float = 1.0, empty: float = 5.0
) -> Judged:
    """Judge launches in which primitives cost what is given, in ns, by interpreter; each launch is a little dearer.

    The baseline, the first cell with a plain call, is launched again at `control` times its cost.
    """
    cells, samples = [], []
    for python, costs in of.items():
        for loop in dict.fromkeys(loop for _, loop in costs):
            own = {name: ns for (name, on), ns in costs.items() if on == loop}
            id_ = f"calls/{python}/{loop}"
            cells.append(
                CallCell(id=id_, python=python, family="some", loop=loop, primitives=list(own), target_s=0.01, values=2)
            )
            samples += [sample(id_, launch, own, 1 + drift * launch, empty) for launch in range(launches)]
    first = {name: ns * control for (name, on), ns in next(iter(of.values())).items() if on is None}
    samples += [sample(cells[0].id, launch, first, 1 + drift * launch, empty, control=True) for launch in range(launches)]
    rounds = Rounds(experiment="calls", baseline=cells[0].id, cells=[*cells], rounds=launches, budget_s=1.0)
    return calls.judge(header(plan([], [])), rounds, samples)


def sample(
    cell: str, launch: int, costs: Mapping[str, float], dearer: float, empty: float, control: bool = False
) -> CallSample:
    return CallSample(
        cell=cell,
        launch=launch,
        control=control,
        started=0.0,
        noise=QUIET,
        ran={"python": "3.4.0"},
        timings={
            name: Timing(what=f"One {name}.", ns=[ns * dearer * 1.3, ns * dearer], overhead_ns=empty, loops=100)
            for name, ns in costs.items()
        },
        errors={},
    )


def rows(judgement: Judged) -> dict[tuple[str | None, str, str | None], CallSummary]:
    summaries = (row for row in judgement.summaries if isinstance(row, CallSummary))
    return {(row.python, row.primitive, row.loop): row for row in summaries}


def claim(judgement: Judged, name: str, python: str = "3.4") -> ClaimResult:
    [found] = [each for each in judgement.claims if each.claim == name and each.statement.endswith(f"Python {python}")]
    return found


PLAIN: Costs = {("call", None): 50.0, ("wrapped-call", None): 100.0}


def test_each_primitive_has_a_row_with_its_cost_and_how_many_calls_that_is():
    found = rows(judged({"3.4": {**PLAIN, ("await-coroutine", "asyncio"): 200.0, ("await-coroutine", "uvloop"): 100.0}}))
    assert set(found) == {
        ("3.4", "call", None), ("3.4", "wrapped-call", None),
        ("3.4", "await-coroutine", "asyncio"), ("3.4", "await-coroutine", "uvloop"),
    }  # fmt: skip
    row = found["3.4", "await-coroutine", "asyncio"]
    assert row.ns
    assert row.relative
    assert (row.valid, row.launches, row.what) == (True, 3, "One await-coroutine.")
    assert row.ns.estimate == pytest.approx(200 * 1.01)  # of the fastest value of each launch
    assert row.ns.low < row.ns.estimate < row.ns.high
    assert row.relative.estimate == pytest.approx(4.0)  # paired by launch: what made one launch dearer cancels
    assert row.relative.high - row.relative.low < 1e-6


def test_each_interpreter_is_held_against_its_own_call():
    found = rows(judged({"3.4": {**PLAIN, ("x", None): 500.0}, "3.13": {("call", None): 10.0, ("x", None): 20.0}}))
    assert found["3.4", "x", None].relative.estimate == pytest.approx(10)
    assert found["3.13", "x", None].relative.estimate == pytest.approx(2)


def test_to_a_call_that_a_compiler_left_out_nothing_is_compared():
    judgement = judged({"pypy3": {("call", None): 0.1, ("wrapped-call", None): 0.1, ("generator-return", None): 9.0}})
    assert rows(judgement)["pypy3", "generator-return", None].relative is None
    about = claim(judgement, "stopiteration", "pypy3")
    assert about.result == "not-measured"
    assert "compiler" in about.because


@pytest.mark.parametrize(
    ("times", "result", "because"),
    [
        (SIX, "holds", "within"),
        (SIX * 1.2, "holds", "within"),
        (SIX * 2, "fails", "more than"),
        (SIX / 2, "fails", "less than"),
    ],
)
def test_six_times_a_plain_call(times, result, because):
    judgement = judged({"3.4": {**PLAIN, ("generator-return", None): 100.0 * times}})
    about = claim(judgement, "stopiteration")
    assert about.result == result
    assert because in about.because
    assert about.here.estimate == pytest.approx(times)
    assert "StopIteration" in judgement.verdict


def test_python_2_has_the_form_without_a_value():
    about = claim(judged({"2.7": {**PLAIN, ("generator-stopiteration", None): 100.0 * SIX}}), "stopiteration", "2.7")
    assert about.result == "holds"


def test_a_ratio_that_is_too_uncertain_is_not_decided():
    once = judged({"3.4": {**PLAIN, ("generator-return", None): 1500.0}}, launches=1)
    assert claim(once, "stopiteration").result == "not-measured"
    assert "one launch" in claim(once, "stopiteration").because
    samples = [sample("c", n, {"wrapped-call": 100.0, "generator-return": ns}, 1, 5.0) for n, ns in enumerate((300, 900, 3000))]
    cell = CallCell(
        id="c", python="3.4", family="f", loop=None, primitives=["wrapped-call", "generator-return"], target_s=1, values=2
    )
    rounds = Rounds(experiment="calls", baseline="c", cells=[cell], rounds=3, budget_s=1)
    about = claim(calls.judge(header(plan([], [])), rounds, samples), "stopiteration")
    assert about.result == "not-measured"
    assert "uncertain" in about.because


def with_queries(awaited_us: float, waited_us: float) -> Costs:
    return {
        **PLAIN,
        ("generator-return", None): 500.0,
        ("query", None): 100_000.0,
        ("socket-round-trip", None): 20_000.0,
        ("query", "asyncio"): awaited_us * 1e3,
        ("socket-round-trip", "asyncio"): waited_us * 1e3,
    }


@pytest.mark.parametrize(("waited_us", "result"), [(60, "holds"), (30, "fails")])
def test_what_of_the_gap_the_event_loop_explains(waited_us, result):
    judgement = judged({"3.4": with_queries(150, waited_us)})
    gap, explained = claim(judgement, "gap"), claim(judgement, "gap-explained")
    assert gap.result is None  # a figure of another machine
    assert gap.here.estimate == pytest.approx(50 * 1.01)
    assert gap.published == pytest.approx(52.4, abs=0.1)
    assert "worth 100 returns" in gap.because
    assert explained.here.estimate == pytest.approx((waited_us - 20) / 50)
    assert explained.result == result
    assert "A query of one row takes" in judgement.verdict


def test_without_a_gap_there_is_nothing_to_explain():
    judgement = judged({"3.4": with_queries(90, 60)})
    assert claim(judgement, "gap-explained").result == "not-measured"
    assert "can't be shown to take more" in judgement.verdict
    assert "worth" not in claim(judgement, "gap").because


def test_without_queries_nothing_is_said_of_them():
    judgement = judged({"3.4": PLAIN})
    assert [each.claim for each in judgement.claims] == []
    assert {finding.rule: finding.status for finding in judgement.findings}["primitives-beside-a-query"] == "not-measured"


def test_primitives_are_put_beside_a_query():
    [finding, _] = judged({"3.4": with_queries(150, 60)}).findings
    assert finding.status == "present"
    assert {each.what: each.observed for each in finding.evidence} == {
        "call on Python 3.4": pytest.approx(0.05),
        "generator-return on Python 3.4": pytest.approx(0.5),
    }


@pytest.mark.parametrize(("control", "status"), [(1.05, "absent"), (3.0, "present")])
def test_a_against_a(control, status):
    [_, finding] = judged({"3.4": PLAIN}, control=control).findings
    assert (finding.rule, finding.status) == ("calls-control", status)
    assert finding.evidence[0].observed == pytest.approx(control - 1)


def test_one_that_failed_is_a_row_that_says_so():
    cell = CallCell(id="c", python="3.4", family="f", loop=None, primitives=["call", "absent"], target_s=1, values=2)
    failed = msgspec.structs.replace(sample("c", 0, {}, 1, 5.0), errors={"call": "ValueError: on purpose"})
    rounds = Rounds(experiment="calls", baseline="c", cells=[cell], rounds=1, budget_s=1)
    [row] = calls.judge(header(plan([], [])), rounds, [failed]).summaries
    assert (row.primitive, row.valid, row.invalid_because, row.ns) == ("call", False, "ValueError: on purpose", None)


def test_where_nothing_published_is_measured_the_verdict_names_the_cheapest_and_the_dearest():
    few = judged({"3.4": {("call", None): 50.0, ("create-task", "asyncio"): 3000.0}}, launches=1)
    assert few.verdict == "On Python 3.4, one of each takes: call 50 ns and create-task (asyncio) 3 us."
    many = judged({"3.4": {(f"step-{number}", None): 10.0**number for number in range(1, 9)}}, launches=1)
    assert many.verdict == (
        "On Python 3.4, the cheapest of 8 are step-1 10 ns, step-2 100 ns and step-3 1 us; "
        "the dearest step-6 1,000 us, step-7 10,000 us and step-8 100,000 us."
    )
