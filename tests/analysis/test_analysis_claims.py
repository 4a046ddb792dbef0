from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import analysis_tour
import pytest
from analysis_builders import cell, comparison, failure, header, plan, side_by_side, trial
from analysis_tour import Program, capacity, tour

from iobound.analysis.judging import judge
from iobound.records import ClaimResult, Observation, RunHeader, Trial


def by_statement(claims: Sequence[ClaimResult], *parts: str, engine: str = "iobound") -> ClaimResult:
    """Return the one claim whose name and statement have the parts, measured by `engine` where it was measured."""
    (found,) = [
        claim
        for claim in claims
        if all(part in f"{claim.claim}: {claim.statement}: {claim.published:g} {claim.unit}" for part in parts)
        and (("locust" in (claim.cell or "")) == (engine != "iobound"))
    ]
    return found


def run(
    programs: Sequence[Program], workload: str = "plain", service: str | None = None
) -> tuple[RunHeader, list[Observation]]:
    parts = [capacity(programs, workload, service, engine) for engine in ("iobound", "locust:HttpUser")]
    cells = [each for part in parts for each in part[0]]
    return header(plan([part[1] for part in parts], cells)), [each for part in parts for each in part[2]]


def test_a_figure_stands_beside_both_engines_and_neither_holds_nor_fails() -> None:
    claims = judge(*tour()).claims
    own = by_statement(claims, "aiohttp-as-published: 1455 requests/s")
    assert own.published == 1455
    assert own.here is not None
    assert own.ratio is not None
    assert own.ratio.estimate == pytest.approx(9440 / 1455, rel=1e-3)
    assert (own.result, own.bound_here) == (None, "target-cpu")
    locust = by_statement(claims, "aiohttp-as-published: 1455 requests/s", engine="locust:HttpUser")
    assert (locust.result, locust.bound_here) == (None, "generator")
    assert locust.here is not None
    assert locust.here.estimate == pytest.approx(1050, rel=1e-3)
    assert locust.statement == own.statement


def test_a_figure_without_locust_stands_by_itself() -> None:
    claims = judge(*tour(locust=False)).claims
    assert len([claim for claim in claims if claim.published == 225]) == 1


def test_redis_has_two_published_figures_for_flask() -> None:
    programs = [Program("flask-redis-as-published", 900, 500), Program("starlette-redis-as-published", 1900, 740)]
    notes = [
        f"{claim.published:g} {claim.statement}"
        for claim in judge(*run(programs, "redis-get", "valkey")).claims
        if "flask" in claim.statement
    ]
    assert len(notes) == 4
    assert sum("342" in note and "in the text" in note for note in notes) == 2
    assert sum("315" in note and "in the table" in note for note in notes) == 2


def test_ratios_hold_fail_or_are_locusts() -> None:
    claims = judge(*tour()).claims
    starlette = by_statement(claims, "three-times", "starlette")
    assert starlette.result == "holds"
    assert starlette.because == "within 1.25 times of it; both bound by their own CPU"
    locust = by_statement(claims, "three-times", "starlette", engine="locust:HttpUser")
    assert (locust.result, locust.bound_here) == (None, "generator")
    assert locust.here is not None
    assert locust.here.estimate == pytest.approx(740 / 700, rel=0.03)
    aiohttp = by_statement(claims, "three-times", "aiohttp-as")
    assert (aiohttp.result, aiohttp.because) == ("fails", "more than published; both bound by their own CPU")
    assert by_statement(claims, "six-times").result == "fails"
    only = [Program("flask-as-published", 1000, 300), Program("starlette-as-published", 9000, 950)]
    claim = by_statement(judge(*run(only)).claims, "three-times")
    assert claim.result == "holds-only-when"
    assert claim.because.startswith("Locust measures; more than published")


def test_a_ratio_that_a_server_for_production_changes_holds_only_as_published() -> None:
    of, seen = run([Program("flask-as-published", 1000, 700), Program("starlette-as-published", 3000, 740)])
    composed = [cell("flask/gunicorn-gthread"), cell("starlette/uvicorn-uvloop")]
    against = comparison(composed, "production", control=False)
    blocks = [
        trial(each, "production", launch=launch, rps=rps * (1 + launch / 100), target=0.97)
        for each, rps in zip(composed, (2000, 2600), strict=True)
        for launch in range(3)
    ]
    whole = plan([*of.plan.comparisons, against], [*of.plan.cells, *composed])
    claim = by_statement(judge(header(whole), [*seen, *blocks]).claims, "three-times")
    assert claim.result == "holds-only-when"
    assert "starlette/uvicorn-uvloop against flask/gunicorn-gthread is 1.30x" in claim.because


def test_a_wide_interval_decides_no_ratio() -> None:
    """2x on average is less than 3 / 1.25, but the launches differ so much that it may well be near 3."""
    rates = {"flask-as-published": [1000.0, 1000.0, 1000.0], "starlette-as-published": [1500.0, 2000.0, 2700.0]}
    claim = by_statement(
        judge(*side_by_side(rates, rates["flask-as-published"], target=0.97)).claims, "three-times", "starlette"
    )
    assert claim.result == "not-measured"
    assert claim.because.startswith("too uncertain")


def test_one_launch_decides_no_ratio() -> None:
    of, seen = tour()
    once = [each for each in seen if isinstance(each, Trial) and each.launch == 0]
    claim = by_statement(judge(of, once).claims, "six-times")
    assert claim.result == "not-measured"
    assert "one launch" in claim.because


def test_releasing_connections_isnt_claimed_without_a_profile() -> None:
    claim = by_statement(judge(*tour()).claims, "releasing")
    assert claim.result == "not-measured"
    assert "needs a profile" in claim.because
    assert claim.here is not None
    assert claim.here.estimate == pytest.approx(2 * 90 / (1e6 / 200 - 1e6 / 650), rel=0.1)


@pytest.mark.parametrize(("capacities", "commands", "result"), [((1000, 1300), 2, "holds"), ((1300, 1000), 2, "fails")])
def test_releasing_connections_by_its_round_trips(capacities: tuple[float, float], commands: float, result: str) -> None:
    flask, starlette = (
        dataclasses.replace(program, capacity=rps, control=commands)
        for program, rps in zip(analysis_tour.SQL, capacities, strict=True)
    )
    of, seen = run([flask, starlette], "sql-list", "postgresql")
    assert by_statement(judge(of, seen).claims, "releasing").result == result


def test_what_the_run_wasnt_about_is_not_claimed() -> None:
    cells = [cell("a"), cell("b")]
    assert judge(header(plan([comparison(cells)], cells)), [trial(each) for each in cells]).claims == []


def test_what_failed_or_never_ran_is_not_measured() -> None:
    of, _ = tour()
    claims = judge(of, []).claims
    assert claims
    assert {claim.result for claim in claims} == {"not-measured"}
    assert all(claim.because and claim.here is None for claim in claims)
    broken = [failure(each, "verify", "wrong bytes", comparison=of.plan.comparisons[0].id) for each in of.plan.cells[:3]]
    assert "not valid here: wrong bytes" in {claim.because for claim in judge(of, broken).claims}


def test_every_sentence_comes_from_the_data() -> None:
    """Other figures, other sentences: no figure of the tour is written anywhere but in its records."""
    doubled = [
        dataclasses.replace(each, capacity=each.capacity * 2.17, by_locust=each.by_locust * 2.17)
        for each in analysis_tour.PLAIN
    ]
    here, there = (
        {claim.here.estimate for claim in judge(*of).claims if claim.here and claim.unit == "requests/s"}
        for of in (tour(), run(doubled))
    )
    assert here
    assert not here & there
