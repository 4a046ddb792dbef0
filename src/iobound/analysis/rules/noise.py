"""How much of the measuring was disturbed."""

from __future__ import annotations

from collections import Counter

from iobound.analysis.results import Results
from iobound.records import Evidence, Finding

RULE = "noise"
SHARE = 0.2  # of the blocks


def judge(results: Results) -> Finding:
    """Count noisy blocks, and cells of which no quiet block is left."""
    trials = [trial for trials in results.observed.trials.values() for trial in trials]
    if not trials:
        return Finding(rule=RULE, status="not-measured", statement="No block was measured.")
    noisy = [trial for trial in trials if not trial.noise.quiet]
    lost = [cell for cell in results.cells if cell.bound_by == "noise"]
    share = len(noisy) / len(trials)
    evidence = [
        Evidence(what="noisy blocks", observed=share, threshold=SHARE, unit="of all blocks"),
        Evidence(what="most stolen", observed=max(t.noise.steal for t in trials), threshold=None, unit="of a core"),
        Evidence(what="most foreign", observed=max(t.noise.foreign for t in trials), threshold=None, unit="of a core"),
    ]
    if share <= SHARE and not lost:
        statement = f"{len(noisy)} of {len(trials)} blocks were noisy; they were measured again and left out."
        return Finding(rule=RULE, status="absent", statement=statement, evidence=evidence)
    reasons = Counter(trial.noise.because for trial in noisy if trial.noise.because)
    example = f", most often like this: {reasons.most_common(1)[0][0]}" if reasons else ""
    return Finding(
        rule=RULE,
        status="present",
        statement=f"{len(noisy)} of {len(trials)} blocks were noisy and left out{example}. "
        + (f"{len(lost)} of {len(results.cells)} cells have no quiet block and mean nothing." if lost else "The rest counts."),
        evidence=evidence,
        advice="Stop other programs, or measure at another time or on another machine; `iobound doctor` shows what disturbs.",
    )
