from __future__ import annotations

import math

import pytest
from analysis_builders import cell, comparison, failure, plan, trial
from scipy import stats

from iobound.analysis.precision import width
from iobound.records import Observation

BASE, SAME, OTHER = cell("base"), cell("same"), cell("other")
PLAN = plan([comparison([BASE, SAME, OTHER])], [BASE, SAME, OTHER])


def blocks(launches: int, spread: float = 0.0) -> list[Observation]:
    found: list[Observation] = []
    for launch in range(launches):
        drift = 1 + launch / 10  # common to all: it cancels
        found.append(trial(BASE, launch=launch, rps=1000 * drift))
        found.append(trial(SAME, launch=launch, rps=2000 * drift))
        found.append(trial(OTHER, launch=launch, rps=3000 * drift * math.exp(spread * (-1) ** launch)))
    return found


def test_none_until_there_are_two_launches() -> None:
    assert width([], PLAN) is None
    assert width(blocks(1), PLAN) is None


def test_the_widest_ratio_counts() -> None:
    assert width(blocks(4), PLAN) == pytest.approx(0, abs=1e-3)
    reach = stats.t.ppf(0.975, 3) * 0.1 * math.sqrt(4 / 3) / 2
    assert width(blocks(4, spread=0.1), PLAN) == pytest.approx(math.sinh(reach), rel=0.01)


def test_more_launches_narrow_it() -> None:
    widths = [width(blocks(launches, spread=0.05), PLAN) for launches in (2, 4, 6, 8)]
    assert widths == sorted(widths, key=lambda each: -(each or 0))


def test_noisy_blocks_and_the_control_dont_count() -> None:
    noise: list[Observation] = [trial(OTHER, launch=n, rps=10 + n * 500, quiet=False) for n in range(4)]
    control: list[Observation] = [trial(BASE, launch=n, rps=10 + n * 500, control=True) for n in range(4)]
    assert width([*blocks(4), *noise, *control], PLAN) == pytest.approx(0, abs=1e-3)


def test_a_contender_that_failed_isnt_waited_for() -> None:
    without = [seen for seen in blocks(4, spread=0.3) if seen.cell != OTHER.id]  # type: ignore[union-attr]
    assert width(without, PLAN) is None
    assert width([*without, failure(OTHER)], PLAN) == pytest.approx(0, abs=1e-3)


def test_without_a_baseline_the_means_count() -> None:
    alone = [seen for seen in blocks(4) if seen.cell != BASE.id]  # type: ignore[union-attr]
    spread = width([*alone, failure(BASE)], PLAN)
    assert spread is not None
    assert spread > 0.1  # the drift is in them


def test_all_failed_is_as_narrow_as_it_gets() -> None:
    assert width([failure(each) for each in (BASE, SAME, OTHER)], PLAN) == 0.0


def test_a_single_cell_has_the_width_of_its_mean() -> None:
    one = plan([comparison([BASE])], [BASE])
    values = [1000.0, 1100.0, 900.0]
    low, _ = stats.t.interval(0.95, 2, 1000, stats.sem(values))
    found = width([trial(BASE, launch=n, rps=rps) for n, rps in enumerate(values)], one)
    assert found == pytest.approx((1000 - low) / 1000)


def test_the_fixed_rate_is_judged_by_cpu() -> None:
    cells = [cell(name, view="fixed-rate", rate=400.0) for name in ("base", "other")]
    of = plan([comparison(cells)], cells)
    seen: list[Observation] = [
        trial(each, launch=n, rps=400, response_ms=2.0, unanswered=0, target=target * (1 + n / 10))
        for n in range(3)
        for each, target in zip(cells, (0.2, 0.4), strict=True)
    ]
    assert width(seen, of) == pytest.approx(0, abs=1e-9)
