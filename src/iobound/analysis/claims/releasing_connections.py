"""The published explanation: with a database, it is the time that releasing a connection takes."""

from __future__ import annotations

import math

from iobound.analysis.published import SOURCE, USERS
from iobound.analysis.results import OWN, Results
from iobound.analysis.words import bound_by, estimated, figure
from iobound.records import CellSummary, ClaimResult, Holds, Interval

PROGRAMS = ("flask-sql-as-published", "starlette-sql-as-published")
FACTOR = "releasing a connection"  # of a walk
MOST = 0.5  # of the gap between the two programs: then it is the explanation
LITTLE = 0.1  # of the gap: then it isn't


def judge(results: Results) -> list[ClaimResult]:
    """Say what share of the difference releasing a connection is.

    Where a walk between the two programs did without resetting a connection at its release, its step says so. Else only the
    round trips are known: a release is at most the transaction control that the database counted, each command one of them.
    """
    if not results.planned(*PROGRAMS):
        return []
    flask, starlette = (results.find(target, "sql-list", engine=OWN, concurrency=USERS) for target in PROGRAMS)
    here, result, because = _walked(results) or _judge(results, flask, starlette)
    return [
        ClaimResult(
            claim="releasing-connections",
            source=SOURCE,
            statement="With a database, the difference is the time that releasing a connection takes",
            unit="of the difference",
            published=1.0,
            here=here,
            bound_here=flask.bound_by if flask else None,
            cell=flask.id if flask else None,
            result=result,
            because=because,
            ratio=here,
        )
    ]


def _walked(results: Results) -> tuple[Interval | None, Holds, str] | None:
    """Judge by the step of a walk, as a share of the logarithm of the whole ratio: shares of steps then add up to it.

    The share is as uncertain as the two ratios; without a difference that is beyond doubt there is nothing to share.
    """
    found = {ratio.comparison: ratio.ratio for ratio in results.ratios if ratio.verdict != "not-ranked"}
    for walk in results.header.plan.walks:
        whole = found.get(walk.direct)
        for step in walk.forwards:
            ratio = found.get(step.comparison)
            if step.factor == FACTOR and walk.workload == "sql-list" and whole and ratio and whole.low and whole.low > 1:
                share = _share(ratio, whole)
                told = (
                    f"of {estimated(whole, 'x')} between the two, releasing a connection as it is makes {estimated(ratio, 'x')}"
                )
                if share.low is None or share.high is None or share.low < MOST <= share.high:
                    return share, "not-measured", f"too uncertain: {told}"
                return share, "holds" if share.low >= MOST else "fails", told
    return None


def _share(ratio: Interval, whole: Interval) -> Interval:
    """Return the logarithm of `ratio` as a share of that of `whole`, which is above 1; its ends by those of both."""

    def share(part: float, of: float | None) -> float:
        return math.log(part) / math.log(of or whole.estimate)

    shares = [share(part, of) for part in (ratio.low, ratio.high) if part for of in (whole.low, whole.high)]
    low, high = (min(shares), max(shares)) if shares else (None, None)
    return Interval(estimate=share(ratio.estimate, None), low=low, high=high)


def _judge(results: Results, flask: CellSummary | None, starlette: CellSummary | None) -> tuple[Interval | None, Holds, str]:
    if flask is None or starlette is None or not flask.valid or not starlette.valid:
        return None, "not-measured", "the pair has no valid capacity here"
    ping_us = next((each.ping_us for each in results.header.environment.services if each.name == flask.service), None)
    commands = flask.transaction_control_per_request
    if ping_us is None or commands is None or not flask.requests_per_second or not starlette.requests_per_second:
        return None, "not-measured", "the database's round trip or its transaction control wasn't counted"
    gap_us = 1e6 / flask.requests_per_second.estimate - 1e6 / starlette.requests_per_second.estimate
    if gap_us <= 0:
        return None, "fails", "there is no difference to explain: the synchronous program isn't slower here"
    share = commands * ping_us / gap_us
    told = (
        f"the synchronous program takes {figure(gap_us)} us more a request, of which {commands:.1f} transaction commands, "
        f"each a round trip of {figure(ping_us)} us, are {share:.0%}"
    )
    if share >= MOST:
        return Interval(estimate=share), "holds", told
    if flask.bound_by == "target-cpu":
        return (
            Interval(estimate=share),
            "not-measured",
            f"{told}; it isn't waiting but {bound_by('target-cpu')}, and what releasing takes of that needs a profile",
        )
    return Interval(estimate=share), "fails" if share < LITTLE else "not-measured", told
