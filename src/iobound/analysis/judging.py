"""From raw observations to a judgement: the one entrance to analysis."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Sequence
from importlib import import_module
from types import ModuleType

from iobound.analysis import claims, rules, scripts
from iobound.analysis.cells import summarise
from iobound.analysis.controls import controls
from iobound.analysis.observed import Observed
from iobound.analysis.ratios import ratios
from iobound.analysis.results import Results
from iobound.analysis.verdict import verdict
from iobound.analysis.waterfalls import sentence, waterfall
from iobound.records import Failure, Judgement, Observation, Plan, RunHeader, Sample


def judge(header: RunHeader, observations: Sequence[Observation]) -> Judgement:
    """Judge a run, whole or interrupted. The same observations always give the same judgement."""
    plan = header.plan
    observed = Observed.of(observations)
    cells = summarise(header, observed)
    compared = controls(plan, observed)
    results = Results(header, observed, cells, ratios(plan, observed, cells, compared), compared)
    findings = [module.judge(results) for module in _modules(rules)] if plan.cells else []
    claimed = [claim for module in _modules(claims) for claim in module.judge(results)] if plan.cells else []
    judged = [import_module(f"{scripts.__name__}.{each.experiment}").judge(header, each, observations) for each in plan.scripts]
    falls = [waterfall(walk, results) for walk in plan.walks]
    told = [*([verdict(results, claimed)] if plan.cells and not falls else []), *map(sentence, falls)]
    return Judgement(
        verdict="\n".join([*told, *(each.verdict for each in judged)]),
        cells=cells,
        ratios=results.ratios,
        controls=compared,
        findings=[*findings, *(finding for each in judged for finding in each.findings)],
        claims=[*claimed, *(claim for each in judged for claim in each.claims)],
        not_measured=[*_not_measured(header, observed), *_never_launched(plan, observations)],
        endings=observed.endings,
        scripts=[summary for each in judged for summary in each.summaries],
        waterfalls=falls,
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


def _never_launched(plan: Plan, observations: Sequence[Observation]) -> list[Failure]:
    """Return for each script cell without a sample why: its first failure, or that the run ended before."""
    sampled = {seen.cell for seen in observations if isinstance(seen, Sample)}
    failures: dict[tuple[str, str], Failure] = {}
    for seen in observations:
        if isinstance(seen, Failure):
            failures.setdefault((seen.comparison, seen.cell), seen)
    return [
        failures.get((each.experiment, cell.id)) or _never_begun(each.experiment, cell.id)
        for each in plan.scripts
        for cell in each.cells
        if cell.id not in sampled
    ]


def _never_begun(comparison: str, cell: str) -> Failure:
    return Failure(cell=cell, comparison=comparison, launch=0, stage="measure", reason="the run ended before it was its turn")
