"""What the probes themselves cost: the baseline with them on against the same processes with them off (rule 11)."""

from __future__ import annotations

from iobound.analysis import statistics
from iobound.analysis.launches import gather, means
from iobound.analysis.results import Results
from iobound.analysis.words import estimated, listed
from iobound.records import Evidence, Finding, Interval

RULE = "instrument-price"
THRESHOLD = 0.05  # of the requests a second: a price worth naming above the others


def judge(results: Results) -> Finding:
    """Compare the blocks with and without probes of each comparison that was to tell the price."""
    prices = _prices(results)
    if not prices:
        return Finding(rule=RULE, status="not-measured", statement="What the probes cost wasn't measured.")
    evidence = [
        Evidence(
            what=f"requests/s with the probes, {what}",
            observed=ratio.estimate,
            threshold=1 - THRESHOLD,
            unit="of those without",
        )
        for what, ratio in prices.items()
    ]
    told = listed([f"{what} {estimated(ratio, 'x')}" for what, ratio in prices.items()], len(prices))
    dear = [what for what, ratio in prices.items() if ratio.high is not None and ratio.high < 1 - THRESHOLD]
    return Finding(
        rule=RULE,
        status="present" if dear else "absent",
        statement=f"Requests a second with the probes on, as a share of those with them off: {told}.",
        evidence=evidence,
        advice="All contenders of a comparison pay it; where statements are short they pay a larger share." if dear else None,
    )


def _prices(results: Results) -> dict[str, Interval]:
    """Return the ratio with / without probes by workload and baseline, where both were measured in two launches or more."""
    found = {}
    baselines = {cell.comparison: cell for cell in results.cells if results.baseline(cell) is cell}
    for comparison, trials in results.observed.bare.items():
        cell = baselines.get(comparison)
        if cell is None:
            continue
        probed = results.observed.launches(comparison, cell.id)
        pair = statistics.paired(means(probed, "requests_per_second"), means(gather(trials), "requests_per_second"))
        if pair is not None and pair.launches > 1:
            found[f"{cell.target} on {cell.asked} at {cell.concurrency} connections"] = pair.interval()
    return found
