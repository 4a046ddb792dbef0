"""What a published essay says that coroutines cost, held against what they cost here, on each interpreter."""

from __future__ import annotations

from iobound.analysis import statistics
from iobound.analysis.primitives import Costs, Key, ratio
from iobound.analysis.published import held, scaled
from iobound.analysis.words import estimated, figure
from iobound.records import ClaimResult, Holds, Interval

SOURCE = "the published essay on asynchronous Python and databases: Python 3.4, PostgreSQL, psycopg2 and aiopg"
TIMES = 12.5 / 2.1  # seconds of ten million returns through StopIteration, and of as many plain calls
GAP_US = 1e3 / 10 - 1e3 / 21  # a row at 10,000 rows/s with asyncio, and at 21,000 with threads
MOST = 0.5  # of the gap: what explains it
ONE_LAUNCH = "one launch each, which decides nothing"
RETURNS = ["generator-return", "generator-stopiteration"]  # the second where Python 2.7 lacks the first


def claims(costs: Costs) -> list[ClaimResult]:
    """Hold what was published against each interpreter on which it was measured."""
    return [claim for python in costs.pythons for claim in [*_times(python, costs), *_gap(python, costs)]]


def _times(python: str, costs: Costs) -> list[ClaimResult]:
    plain = Key(python, "wrapped-call")
    slow = next((key for name in RETURNS if costs.ns.get(key := Key(python, name))), None)
    plain_ns = costs.mean(plain)
    if slow is None or plain_ns is None:
        return []
    here = costs.ratio(slow, plain)
    result, because = _near(here)
    statement = f"returning through a generator's StopIteration costs six times a plain call: Python {python}"
    because += f"; the plain call takes {figure(plain_ns.estimate)} ns"
    return [_claim("stopiteration", statement, "x", TIMES, here, result, because)]


def _near(here: Interval | None) -> tuple[Holds, str]:
    if here is None:
        return "not-measured", "the plain call is too short to be measured: a compiler has left it out"
    return held(here, TIMES)


def _gap(python: str, costs: Costs) -> list[ClaimResult]:
    """Compare what a query takes more when it is awaited with what waiting for a socket does, on the same event loop."""
    gap = costs.difference(Key(python, "query", "asyncio"), Key(python, "query"))
    loop = costs.difference(Key(python, "socket-round-trip", "asyncio"), Key(python, "socket-round-trip"))
    here, query = statistics.mean([ns / 1e3 for ns in gap.values()]), costs.mean(Key(python, "query"))
    if here is None or query is None:
        return []
    returned = costs.mean(Key(python, RETURNS[0]))
    worth = ""
    if returned and here.estimate > 0:
        worth = f", worth {figure(here.estimate * 1e3 / returned.estimate)} returns through StopIteration"
    statement = f"a row takes 52 us more with aiopg and asyncio than with psycopg2 and threads: Python {python}"
    because = f"beside a blocking query of {figure(query.estimate / 1e3)} us, one at a time{worth}"
    result, explained = _explained(share := ratio(loop, gap))
    return [
        _claim("gap", statement, "us", GAP_US, here, None, because),
        _claim(
            "gap-explained",
            f"what coroutines and the event loop cost explains that: Python {python}",
            "share",
            1.0,
            share,
            result,
            explained,
        ),
    ]


def _explained(share: Interval | None) -> tuple[Holds, str]:
    """Judge which share of the gap the event loop is: what waiting for one answer takes more in it than blocking."""
    if share is None:
        return "not-measured", "the gap, or what the event loop takes, can't be told from none"
    if share.low is None or share.high is None:
        return "not-measured", ONE_LAUNCH
    because = f"waiting for a socket in asyncio, against blocking, is {estimated(share)} of it"
    if share.low < MOST < share.high:
        return "not-measured", f"too uncertain: {because}"
    if share.estimate >= MOST:
        return "holds", because
    return "fails", f"{because}; the rest is what aiopg does in Python"


def _claim(
    claim: str, statement: str, unit: str, published: float, here: Interval | None, result: Holds | None, because: str
) -> ClaimResult:
    return ClaimResult(
        claim=claim,
        source=SOURCE,
        statement=statement,
        unit=unit,
        published=published,
        here=here,
        bound_here=None,
        cell=None,
        result=result,
        because=because,
        ratio=scaled(here, published),
        experiment="calls",
    )
