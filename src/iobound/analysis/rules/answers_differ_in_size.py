"""Contenders whose answers aren't equally long: part of the difference is what they send."""

from __future__ import annotations

from iobound.analysis.results import Results
from iobound.analysis.words import figure, listed
from iobound.records import Evidence, Finding

RULE = "answers-differ-in-size"
HEADERS = 300  # bytes: servers' headers differ by less
SHARE = 0.1  # of the larger answer


def judge(results: Results) -> Finding:
    """Compare the bytes received per answer, headers included, with those of the baseline."""
    pairs = [
        (cell, mine, other)
        for cell, base in results.pairs()
        if (mine := results.bytes_per_answer(cell)) and (other := results.bytes_per_answer(base))
    ]
    if not pairs:
        return Finding(rule=RULE, status="not-measured", statement="No two contenders answered.")
    unequal = [(cell, mine, other) for cell, mine, other in pairs if abs(mine - other) > max(HEADERS, SHARE * max(mine, other))]
    if not unequal:
        return Finding(rule=RULE, status="absent", statement="Answers are equally long, but for their headers.")
    told = [f"{cell.target} on {cell.asked} ({figure(mine)} against {figure(other)})" for cell, mine, other in unequal]
    return Finding(
        rule=RULE,
        status="present",
        statement=f"Answers differ in size, in bytes with headers: {listed(list(dict.fromkeys(told)))}.",
        evidence=[
            Evidence(what="answer (threshold: the baseline's)", observed=mine, threshold=other, unit="bytes", cell=cell.id)
            for cell, mine, other in unequal
        ],
        advice="Serialising and sending more takes time of its own; compare targets with equal answers.",
    )
