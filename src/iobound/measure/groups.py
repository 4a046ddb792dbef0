"""Comparisons that can share the launches of their targets are measured together: a group."""

from __future__ import annotations

from dataclasses import dataclass

from iobound.records import Cell, Comparison, Plan

Launchable = tuple[str, str | None, float, int, tuple[tuple[str, str], ...]]
"""What makes two cells the same processes: target, service, round-trip time to it, rows of the table, settings."""


@dataclass(frozen=True)
class Group:
    """Comparisons over the same launches, capacity before fixed rate. `blocks` is how many blocks one launch takes."""

    comparisons: list[Comparison]
    blocks: int


def launchable(cell: Cell) -> Launchable:
    """Return what must be running to measure `cell`."""
    return (cell.target, cell.service, cell.rtt_ms, cell.workload.rows, tuple(sorted(cell.settings.items())))


def group(plan: Plan) -> list[Group]:
    """Gather the comparisons of `plan` whose cells need the same running targets, in the plan's order."""
    cells = {cell.id: cell for cell in plan.cells}
    gathered: dict[tuple[frozenset[Launchable], Launchable], list[Comparison]] = {}
    for comparison in plan.comparisons:
        needed = frozenset(launchable(cells[id_]) for id_ in comparison.cells)
        gathered.setdefault((needed, launchable(cells[comparison.baseline])), []).append(comparison)
    groups = []
    for comparisons in gathered.values():
        ordered = sorted(comparisons, key=lambda comparison: cells[comparison.baseline].view == "fixed-rate")
        contenders = sum(len(comparison.cells) + comparison.control for comparison in ordered)
        groups.append(Group(ordered, contenders * plan.blocks_per_launch))
    return groups
