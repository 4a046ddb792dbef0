"""What rules and claims judge: the plan, the environment, and the cells with what was made of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from iobound.analysis.launches import Blocks
from iobound.analysis.observed import Observed
from iobound.records import CellSummary, Control, Ratio, RunHeader

OWN = "iobound"  # the engine that isn't the limit


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

    @property
    def own(self) -> list[CellSummary]:
        """The valid cells driven by iobound itself; what other engines say of the same targets is a matter of claims."""
        return [cell for cell in self.valid if cell.engine == OWN]

    def blocks(self, cell: CellSummary) -> Blocks:
        """Return the quiet blocks of a cell."""
        return self.observed.blocks(cell.comparison, cell.id)

    def baseline(self, cell: CellSummary) -> CellSummary | None:
        """Return what a cell is held against."""
        baselines = {comparison.id: comparison.baseline for comparison in self.header.plan.comparisons}
        return next(
            (each for each in self.cells if (each.comparison, each.id) == (cell.comparison, baselines[cell.comparison])), None
        )

    def pairs(self) -> Iterator[tuple[CellSummary, CellSummary]]:
        """Yield each valid contender of iobound's engine with its valid baseline."""
        for cell in self.own:
            baseline = self.baseline(cell)
            if baseline is not None and baseline.valid and baseline is not cell:
                yield cell, baseline

    def bytes_per_answer(self, cell: CellSummary) -> float | None:
        """Return the bytes received per right answer, ``None`` without one."""
        blocks = self.blocks(cell)
        return blocks.total(lambda trial: trial.load.bytes_received) / blocks.responses if blocks.responses else None

    def ratio(self, cell: CellSummary) -> Ratio | None:
        """Return how a contender compares with its baseline by the metric of its view."""
        return next((each for each in self.ratios if (each.comparison, each.cell) == (cell.comparison, cell.id)), None)

    def planned(self, *targets: str) -> bool:
        """Whether the run was to measure all of `targets`."""
        return set(targets) <= {program(cell.target) for cell in self.header.plan.cells}

    def find(self, target: str, workload: str, *, engine: str, concurrency: int) -> CellSummary | None:
        """Return the capacity of `target`, whatever service it ran on (``target@service``), if without an injected delay."""
        wanted = ("capacity", workload, engine, concurrency)
        for cell in self.cells:
            if (cell.view, cell.asked, cell.engine, cell.concurrency) == wanted and program(cell.target) == target:
                return cell
        return None


def program(target: str) -> str:
    """Return the program of a target without the service it ran on: ``flask-sql-as-published@postgresql``."""
    return target.partition("@")[0]
