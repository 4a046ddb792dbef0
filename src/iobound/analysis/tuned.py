"""What tuning found: the worth of each level of each setting, and of the best ones together."""

from __future__ import annotations

from collections.abc import Mapping

from iobound.records import Judgement, Plan, Setting, Tuned


def settings(plan: Plan, judgement: Judgement) -> list[Setting]:
    """Return what each level of each setting is worth, from a run in which each cell has one setting beside the default."""
    cells = {cell.id: cell for cell in plan.cells}
    bounds = {cell.id: cell.bound_by for cell in judgement.cells}
    found = []
    for ratio in judgement.ratios:
        cell = cells[ratio.cell]
        ((name, level),) = cell.settings.items()
        default = cells[ratio.baseline].settings[name]
        found.append(
            Setting(
                target=cell.target,
                setting=name,
                level=int(level),
                default=int(default),
                ratio=ratio.ratio,
                verdict=ratio.verdict,
                reason=ratio.reason,
                bound_by=bounds.get(ratio.cell),
            )
        )
    return found


def tuned(
    found: list[Setting], searched: Judgement, best: Mapping[str, Mapping[str, str]], final: Judgement | None
) -> list[Tuned]:
    """Return what became of each target of `best`, its best settings.

    `searched` is the judgement of the search and `final` that of the bests, ``None`` where there was nothing to measure.
    """
    return [_tuned(target, found, searched, best[target], final) for target in best]


def _tuned(target: str, found: list[Setting], searched: Judgement, best: Mapping[str, str], final: Judgement | None) -> Tuned:
    defaults = {ratio.baseline for ratio in searched.ratios}
    default = next((cell for cell in searched.cells if cell.target == target and cell.id in defaults and cell.valid), None)
    gain = next((ratio for ratio in final.ratios if ratio.cell.endswith(f"/{target}/best/best")), None) if final else None
    return Tuned(
        target=target,
        default_requests_per_second=default.requests_per_second if default else None,
        bound_by=default.bound_by if default else None,
        best=dict(best),
        gain=gain.ratio if gain else None,
        gain_reason=gain.reason if gain else None,
        sensitivity=[each for each in found if each.target == target],
    )
