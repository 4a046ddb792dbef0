"""A against A that differs too much to tell small effects."""

from __future__ import annotations

from iobound.analysis.results import Results
from iobound.analysis.words import estimated, listed
from iobound.records import Evidence, Finding

RULE = "control-too-wide"
WIDE = 0.10  # differences that people choose by are about this large


def judge(results: Results) -> Finding:
    """Name the comparisons whose smallest detectable effect is large."""
    known = [(control, control.detectable) for control in results.controls if control.detectable is not None]
    if not known:
        return Finding(rule=RULE, status="not-measured", statement="No baseline was measured twice in two launches.")
    wide = [(control, detectable) for control, detectable in known if detectable > WIDE]
    evidence = [
        Evidence(
            what=f"smallest detectable effect, {c.comparison}", observed=detectable, threshold=WIDE, unit="of the baseline"
        )
        for c, detectable in wide or known
    ]
    if not wide:
        return Finding(
            rule=RULE,
            status="absent",
            statement=f"Launches of the same thing differ little: from {max(d for _, d in known):.0%} on, effects can be told.",
            evidence=evidence,
        )
    told = [
        f"{control.comparison} ({estimated(control.ratio, 'x')}: from {detectable:.0%} on)"
        for control, detectable in wide
        if control.ratio
    ]
    return Finding(
        rule=RULE,
        status="present",
        statement=f"Two launches of the same thing differ a lot, so that only large effects can be told: {listed(told)}.",
        evidence=evidence,
        advice="More launches (a larger --budget, or no --quick) narrow it; so does a quieter machine.",
    )
