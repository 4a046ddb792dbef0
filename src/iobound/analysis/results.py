"""What rules and claims judge: the plan, the environment, and the cells with what was made of them."""

from __future__ import annotations

from dataclasses import dataclass

from iobound.analysis.observed import Observed
from iobound.records import CellSummary, Control, Ratio, RunHeader


@dataclass(frozen=True)
class Results:
    """A run so far judged."""

    header: RunHeader
    observed: Observed
    cells: list[CellSummary]
    ratios: list[Ratio]
    controls: list[Control]

    @property
    def valid(self) -> list[CellSummary]:
        """The cells whose numbers mean something."""
        return [cell for cell in self.cells if cell.valid]
