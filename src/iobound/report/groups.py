"""How the cells of a run are laid out: what asks the same question stands together, the two views apart."""

from __future__ import annotations

from dataclasses import dataclass

from iobound.records import CellSummary, ClaimResult, Control, Ending, Judgement, Plan, View
from iobound.report import words

EXPLAIN = "explain"


@dataclass(frozen=True)
class Group:
    """The cells of one experiment that are asked the same (a workload over a round-trip time), in the order of the plan."""

    experiment: str
    asked: str
    questions: list[str]
    cells: list[CellSummary]
    controls: list[Control]

    @property
    def key(self) -> tuple[str, str]:
        """Return what tells this group from the others of a run."""
        return self.experiment, self.asked

    @property
    def title(self) -> str:
        """Return the question that the cells answer, and what they are asked."""
        question = "; ".join(self.questions) or self.experiment
        return f"{question[0].upper()}{question[1:]} ({self.asked})"

    def of(self, view: View) -> list[CellSummary]:
        """Return the cells of one view."""
        return [cell for cell in self.cells if cell.view == view]

    @property
    def views(self) -> list[View]:
        """Return the views that the cells were measured in, capacity first."""
        return sorted({cell.view for cell in self.cells})

    def controls_of(self, view: View) -> list[tuple[str, Control]]:
        """Return the controls of the comparisons of one view, each after what it was measured over."""
        over = {cell.comparison: words.connections(cell.concurrency) for cell in self.of(view)}
        return [(over[control.comparison], control) for control in self.controls if control.comparison in over]

    @property
    def services(self) -> list[str]:
        """Return the services that the cells talk to."""
        return list(dict.fromkeys(cell.service for cell in self.cells if cell.service))

    @property
    def shared_settings(self) -> dict[str, str]:
        """Return the settings that are the same in all cells."""
        first = self.cells[0].settings
        return {name: value for name, value in first.items() if all(c.settings.get(name) == value for c in self.cells)}

    def note(self, cell: CellSummary) -> str:
        """Say what tells `cell` from another of the same target: another engine, and settings that not all cells share."""
        shared = self.shared_settings
        parts = [f"{name}={value}" for name, value in cell.settings.items() if name not in shared]
        if cell.engine != "iobound":
            parts.insert(0, f"by {words.ENGINES.get(cell.engine, cell.engine)}")
        return ", ".join(parts)

    def name(self, cell: CellSummary) -> str:
        """Return the target of `cell` with what tells it from another of the same target."""
        note = self.note(cell)
        return f"{cell.target} ({note})" if note else cell.target


def group(judgement: Judgement, plan: Plan) -> list[Group]:
    """Return the groups of a judgement in the order of the plan."""
    questions = {comparison.id: comparison.question for comparison in plan.comparisons}
    groups = []
    shown = [cell for cell in judgement.cells if cell.experiment != EXPLAIN]  # those of walks are told by their waterfall
    for experiment, asked in dict.fromkeys((cell.experiment, cell.asked) for cell in shown):
        cells = [c for c in shown if (c.experiment, c.asked) == (experiment, asked)]
        comparisons = list(dict.fromkeys(cell.comparison for cell in cells))
        groups.append(
            Group(
                experiment=experiment,
                asked=asked,
                questions=list(dict.fromkeys(questions[name] for name in comparisons if questions.get(name))),
                cells=cells,
                controls=[control for control in judgement.controls if control.comparison in comparisons],
            )
        )
    return groups


def against(cell: CellSummary, plan: Plan, judgement: Judgement) -> str:
    """Write how `cell` compares with the baseline of its comparison, or that it is the baseline."""
    if any(comparison.id == cell.comparison and comparison.baseline == cell.id for comparison in plan.comparisons):
        return "baseline"
    found = [ratio for ratio in judgement.ratios if ratio.cell == cell.id and ratio.comparison == cell.comparison]
    if not cell.valid or (cell.at_least and all(ratio.verdict == "not-ranked" for ratio in found)):
        return "not ranked"  # what bound the cell stands beside it and is the reason
    return "; ".join(words.ratio(ratio) for ratio in found) or "–"


@dataclass(frozen=True)
class Published:
    """A published figure or ratio: what iobound says of it here (`own`), and what the publication's load tool says here."""

    own: ClaimResult
    own_cell: CellSummary | None
    other: ClaimResult | None
    other_cell: CellSummary | None

    @property
    def suspect(self) -> bool:
        """Whether what bound iobound's own figure makes it say little."""
        return self.own.bound_here in words.SUSPECT


def published(judgement: Judgement) -> tuple[list[Published], list[Published]]:
    """Return the published ratios and the published figures, each with what was measured here, in the order of the cells."""
    cells = {cell.id: cell for cell in judgement.cells}
    order = {id_: place for place, id_ in enumerate(cells)}
    said: dict[tuple[str, str, str, float | None], list[ClaimResult]] = {}
    for claim in judgement.claims:
        if claim.experiment != "web":
            continue  # shown in the section of its experiment
        said.setdefault((claim.claim, claim.statement, claim.unit, claim.published), []).append(claim)
    rows = []
    for claims in said.values():
        own, other = claims[-1], claims[0] if len(claims) > 1 else None
        rows.append(Published(own, cells.get(own.cell or ""), other, cells.get(other.cell or "") if other else None))
    rows.sort(key=lambda row: order.get(row.own.cell or "", len(order)))
    return (
        [row for row in rows if row.own.unit not in words.ABSOLUTE],
        [row for row in rows if row.own.unit in words.ABSOLUTE],
    )


def notes(group: Group, view: View, plan: Plan, judgement: Judgement) -> list[str]:
    """Say of the cells that the table can't tell of by itself why they are invalid, unranked or of an unknown bound."""
    reasons: dict[str, list[str]] = {}
    for cell in group.of(view):
        said = against(cell, plan, judgement)
        if not cell.valid or cell.bound_by == "unknown":
            reasons.setdefault(words.why(cell), []).append(group.name(cell))
        elif said.startswith("not ranked:"):
            reasons.setdefault(said, []).append(group.name(cell))
    everyone = len(group.of(view))
    return [f"{'all' if len(names) == everyone > 2 else ', '.join(names)}: {reason}" for reason, names in reasons.items()]


def endings(judgement: Judgement) -> list[tuple[Ending, list[Control]]]:
    """Return why each comparison ended, with its controls."""
    return [(ending, [c for c in judgement.controls if c.comparison == ending.comparison]) for ending in judgement.endings]
