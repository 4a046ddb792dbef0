from __future__ import annotations

import msgspec
import pytest
from report_builders import around, summary

from iobound.records import BoundBy, ClaimResult, Control, Evidence, Interval, Ratio
from iobound.report import words


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.01234, "0.0123"),
        (0.5, "0.50"),
        (9.876, "9.88"),
        (47.23, "47.2"),
        (338.4, "338"),
        (41_234.5, "41,234"),
        (-2.5, "-2.50"),
    ],
)
def test_numbers_have_about_three_digits(value: float, text: str) -> None:
    assert words.number(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0%"), (0.004, "0.4%"), (0.05, "5%"), (0.123, "12%"), (1.0, "100%"), (None, "–")]
)
def test_shares_are_percents(value: float | None, text: str) -> None:
    assert words.share(value) == text


def test_intervals_share_the_decimals_of_the_estimate() -> None:
    assert words.interval(Interval(estimate=1.42, low=1.368, high=1.4712), "x") == "1.42x [1.37, 1.47]"
    assert words.interval(Interval(estimate=1000.2, low=999.6, high=1001.0)) == "1,000 [1,000, 1,001]"
    assert words.interval(Interval(estimate=5.0)) == "5.00"
    assert words.interval(None) == "–"


def test_every_bound_has_words() -> None:
    assert set(words.BOUNDS) == set(BoundBy.__args__)
    assert set(words.BOUNDS) > words.SUSPECT


def test_figures_of_client_bound_and_invalid_cells() -> None:
    assert words.rate(summary("x", 1050.0, bound_by="generator")) == "at least 1,050"
    invalid = summary("x", 1050.0, invalid_because="wrong")
    assert (words.rate(invalid), words.latency(invalid, "p50"), words.target_cpu(invalid)) == ("invalid", "–", "–")


def test_claims_read_like_the_cell_they_rest_on() -> None:
    claim = ClaimResult(
        claim="a",
        source="b",
        statement="c",
        unit="requests/s",
        published=1539.0,
        here=around(741.0),
        bound_here="generator",
        cell="x",
        result="not-measured",
        because="d",
        ratio=around(0.48),
    )
    assert (words.published(claim), words.here(claim, None), words.times(claim, None)) == ("1,539/s", "741 [719, 763]", "0.48x")
    assert words.said(claim, None) == "741"
    assert words.said(msgspec.structs.replace(claim, unit="x"), None) == "741x*"
    limited = summary("x", 741.0, bound_by="generator")
    assert (words.here(claim, limited), words.times(claim, limited)) == ("at least 741", "at least 0.48x")
    slow = msgspec.structs.replace(claim, unit="ms", here=around(5.2))
    assert (words.published(slow), words.here(slow, limited)) == ("1,539 ms", "5.20 [5.04, 5.36]")
    part = msgspec.structs.replace(claim, unit="of the difference", published=1.0, here=Interval(estimate=0.06))
    assert (words.published(part), words.here(part, None)) == ("100%", "6%")
    invalid = summary("x", 741.0, invalid_because="wrong")
    assert (words.here(claim, invalid), words.times(claim, invalid)) == ("invalid", "–")


def test_ratios_name_what_they_are_of() -> None:
    def ratio(metric: str, verdict: str, reason: str | None = None) -> str:
        value = Interval(estimate=0.5, low=0.4, high=0.6)
        return words.ratio(
            Ratio(comparison="", metric=metric, cell="", baseline="", ratio=value, verdict=verdict, reason=reason)
        )

    assert ratio("requests_per_second", "slower") == "0.50x [0.40, 0.60] slower"
    assert ratio("cpu_us_per_request", "faster") == "0.50x [0.40, 0.60] the CPU"
    assert ratio("cpu_us_per_request", "tie", "the interval contains 1") == "0.50x [0.40, 0.60] tie"
    assert ratio("cpu_us_per_request", "not-ranked", "other rows") == "not ranked: other rows"


def test_controls_tell_the_smallest_difference() -> None:
    control = Control(comparison="", metric="requests_per_second", ratio=around(1.01, 0.04), detectable=0.06)
    assert words.control(control) == "requests/s 1.01x [0.97, 1.05]; below 6% nothing is called a difference"
    one = Control(comparison="", metric="requests_per_second", ratio=Interval(estimate=1.01), detectable=None)
    assert words.control(one) == "requests/s 1.01x; too few starts to say what can be told apart"


def test_evidence_stands_beside_its_threshold() -> None:
    cell = summary("flask", 100.0, workload="plain")
    known = Evidence(what="CPU", observed=0.98, threshold=0.9, unit="cores", cell=cell.id)
    assert words.evidence(known, cell) == "CPU: 0.98 cores (threshold 0.9), flask on plain"
    assert words.evidence(Evidence(what="CPU", observed=None, threshold=None, unit="cores"), None) == "CPU: not observed"


def test_names_break_after_slashes_and_hyphens() -> None:
    assert words.wrapped("flask/gunicorn-gthread/sqlalchemy-psycopg", 24) == ["flask/gunicorn-gthread/", "sqlalchemy-psycopg"]
    assert words.wrapped("short", 24) == ["short"]
    assert "".join(words.wrapped("a/b-c d" * 9, 10)) == "a/b-c d" * 9
