"""Contenders that wrap the same statements in more or fewer BEGIN, COMMIT and ROLLBACK: a factor, no obstacle."""

from __future__ import annotations

from iobound.analysis.results import Results
from iobound.analysis.words import listed
from iobound.records import Evidence, Finding

RULE = "transaction-control-differs"
APART = 0.5  # commands a request: every second request has one more


def judge(results: Results) -> Finding:
    """Compare commands of transaction control per request with those of the baseline."""
    pairs = [
        (cell, mine, other)
        for cell, base in results.pairs()
        if (mine := cell.transaction_control_per_request) is not None
        and (other := base.transaction_control_per_request) is not None
    ]
    if not pairs:
        return Finding(rule=RULE, status="not-measured", statement="No contender's transaction control was counted.")
    apart = [(cell, mine, other) for cell, mine, other in pairs if abs(mine - other) > APART]
    if not apart:
        return Finding(rule=RULE, status="absent", statement="All contenders send as many transaction commands.")
    told = [f"{cell.target} on {cell.asked} ({mine:.1f} a request against {other:.1f})" for cell, mine, other in apart]
    return Finding(
        rule=RULE,
        status="present",
        statement=f"Transaction control differs: {listed(list(dict.fromkeys(told)))}. Each may be a round trip "
        "more; the ratio includes it.",
        evidence=[
            Evidence(
                what="transaction commands (threshold: the baseline's)",
                observed=mine,
                threshold=other,
                unit="a request",
                cell=cell.id,
            )
            for cell, mine, other in apart
        ],
        advice="Where reads need no transaction, autocommit saves the round trips; set it in both to compare like with like.",
    )
