"""One run against another: may they be compared, what differs between them, and what changed.

Runs were measured at different times, so that nothing is paired: what drifted between them is in the difference, and the
interval is Welch's on the logarithms of launch means.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from scipy import stats

from iobound.analysis.launches import METRIC, gather, means
from iobound.analysis.statistics import CONFIDENCE
from iobound.records import CellSummary, Change, Interval, Judgement, Observation, Ranking, RunHeader, Trial

Facts = dict[str, object]


def must_agree(header: RunHeader) -> Facts:
    """Return what two runs must have in common to be compared, by the name of the field in run.json."""
    environment = header.environment
    return {
        **{f"environment.host.{name}": value for name, value in environment.host.items() if name != "python"},
        "environment.cores": environment.cores,
        "environment.target_cores": environment.target_cores,
        "environment.shared_cores": environment.shared_cores,
        "environment.jitter_ms": environment.jitter_ms,
        "plan.block_s": header.plan.block_s,
        **{f"environment.services.{service.name}.version": service.version for service in environment.services},
        **{
            f"environment.services.{service.name}.settings.{name}": value
            for service in environment.services
            for name, value in service.settings.items()
        },
    }


def may_differ(header: RunHeader) -> Facts:
    """Return what may be the very thing that is compared: the versions of iobound, Python and the packages."""
    packages = header.environment.packages.items()
    return {
        "iobound": header.iobound,
        "environment.host.python": header.environment.host.get("python"),
        **{f"environment.packages.{of}.{name}": version for of, versions in packages for name, version in versions.items()},
    }


def differences(first: Facts, second: Facts) -> list[str]:
    """Return a line for each field that differs, with both values. A field that only one has is left out."""
    return [f"{name}: {first[name]!r} and {second[name]!r}" for name in first if name in second and first[name] != second[name]]


def changes(first: tuple[Judgement, list[Observation]], second: tuple[Judgement, list[Observation]]) -> list[Change]:
    """Return for each cell that both runs measured what the second makes of it: the ratio second / first and a verdict."""
    theirs = {cell.id: cell for cell in second[0].cells}
    found = []
    for cell in first[0].cells:
        other = theirs.get(cell.id)
        if other is None:
            continue
        metric = METRIC[cell.view]
        reason = _unranked("first", cell) or _unranked("second", other)
        ratio = None
        if reason is None:
            ratio = welch([list(means(gather(_trials(of, cell.id)), metric).values()) for of in (first[1], second[1])])
            if ratio is None or ratio.low is None:
                reason = "an interval needs two launches that count in each run"
        found.append(
            Change(
                cell=cell.id,
                target=cell.target,
                workload=cell.asked,
                view=cell.view,
                metric=metric,
                ratio=ratio,
                verdict=_verdict(ratio, more_is_faster=metric == "requests_per_second"),
                reason=reason,
            )
        )
    return found


def _unranked(which: str, cell: CellSummary) -> str | None:
    if not cell.valid:
        return f"not valid in the {which} run: {cell.invalid_because}"
    return f"bound by the generator in the {which} run" if cell.at_least else None


def _trials(observations: Iterable[Observation], cell: str) -> list[Trial]:
    return [seen for seen in observations if isinstance(seen, Trial) and seen.cell == cell and not (seen.control or seen.bare)]


def welch(samples: list[list[float]]) -> Interval | None:
    """Return the ratio of the geometric means, second over first, with Welch's interval; no ends below two launches each.

    Welch: The generalization of Student's problem when several different population variances are involved,
    Biometrika 34 (1947). Degrees of freedom by Satterthwaite.
    """
    first, second = samples
    if not first or not second or min(*first, *second) <= 0:
        return None
    logs = [np.log(first), np.log(second)]
    centre = float(logs[1].mean() - logs[0].mean())
    if min(len(first), len(second)) < 2:
        return Interval(estimate=math.exp(centre))
    errors = [float(one.var(ddof=1)) / len(one) for one in logs]
    if sum(errors) == 0:
        return Interval(estimate=math.exp(centre), low=math.exp(centre), high=math.exp(centre))
    freedom = sum(errors) ** 2 / sum(error**2 / (len(one) - 1) for error, one in zip(errors, logs, strict=True))
    reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, freedom)) * math.sqrt(sum(errors))
    return Interval(estimate=math.exp(centre), low=math.exp(centre - reach), high=math.exp(centre + reach))


def _verdict(ratio: Interval | None, more_is_faster: bool) -> Ranking:
    if ratio is None or ratio.low is None or ratio.high is None:
        return "not-ranked"
    if ratio.low <= 1 <= ratio.high:
        return "tie"
    return "faster" if (ratio.low > 1) == more_is_faster else "slower"
