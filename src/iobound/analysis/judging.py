"""From raw observations to a judgement: the one entrance to analysis."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Sequence
from importlib import import_module
from types import ModuleType

from iobound.analysis import claims, rules
from iobound.analysis.cells import summarise
from iobound.analysis.controls import controls
from iobound.analysis.observed import Observed
from iobound.analysis.ratios import ratios
from iobound.analysis.results import Results
from iobound.analysis.verdict import verdict
from iobound.records import Failure, Judgement, Observation, RunHeader


def judge(header: RunHeader, observations: Sequence[Observation]) -> Judgement:
    """Judge a run, whole or interrupted. The same observations always give the same judgement."""
    observed = Observed.of(observations)
    cells = summarise(header, observed)
    compared = controls(header.plan, observed)
    results = Results(header, observed, cells, ratios(header.plan, observed, cells, compared), compared)
    findings = [module.judge(results) for module in _modules(rules)]
    claimed = [claim for module in _modules(claims) for claim in module.judge(results)]
    return Judgement(
        verdict=verdict(results, claimed),
        cells=cells,
        ratios=results.ratios,
        controls=compared,
        findings=findings,
        claims=claimed,
        not_measured=_not_measured(header, observed),
        endings=observed.endings,
    )


def _modules(folder: ModuleType) -> Iterator[ModuleType]:
    """Import the files of a folder in the order of their names."""
    for name in sorted(module.name for module in pkgutil.iter_modules(folder.__path__)):
        yield import_module(f"{folder.__name__}.{name}")


def _not_measured(header: RunHeader, observed: Observed) -> list[Failure]:
    """Return for each planned cell without a block why: its first failure, or that the run ended before."""
    missing = []
    for comparison in header.plan.comparisons:
        for cell in comparison.cells:
            if (comparison.id, cell) in observed.trials:
                continue
            failures = observed.failures.get((comparison.id, cell))
            missing.append(failures[0] if failures else _never_begun(comparison.id, cell))
    return missing


def _never_begun(comparison: str, cell: str) -> Failure:
    return Failure(cell=cell, comparison=comparison, launch=0, stage="measure", reason="the run ended before it was its turn")
