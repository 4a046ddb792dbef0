"""The observations of a run, by cell: what was measured and what failed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from iobound.analysis.launches import Blocks, Launch, gather
from iobound.records import Ending, Failure, Observation, Trial

Key = tuple[str, str]
"""A comparison and a cell in it."""


@dataclass
class Observed:
    """Observations, gathered once. The control's trials and those without probes are kept apart: they belong to no cell."""

    trials: dict[Key, list[Trial]] = field(default_factory=lambda: defaultdict(list))
    controls: dict[str, list[Trial]] = field(default_factory=lambda: defaultdict(list))
    bare: dict[str, list[Trial]] = field(default_factory=lambda: defaultdict(list))
    failures: dict[Key, list[Failure]] = field(default_factory=lambda: defaultdict(list))
    endings: list[Ending] = field(default_factory=list)

    @classmethod
    def of(cls, observations: Iterable[Observation]) -> Observed:
        """Gather `observations`."""
        observed = cls()
        for seen in observations:
            match seen:
                case Trial(control=True):
                    observed.controls[seen.comparison].append(seen)
                case Trial(bare=True):
                    observed.bare[seen.comparison].append(seen)
                case Trial():
                    observed.trials[seen.comparison, seen.cell].append(seen)
                case Failure():
                    observed.failures[seen.comparison, seen.cell].append(seen)
                case Ending():
                    observed.endings.append(seen)
        return observed

    def launches(self, comparison: str, cell: str) -> list[Launch]:
        """Return the launches of a cell, noisy blocks left out."""
        return gather(self.trials.get((comparison, cell), []))

    def blocks(self, comparison: str, cell: str) -> Blocks:
        """Return the quiet blocks of a cell, all launches together."""
        return Blocks([trial for launch in self.launches(comparison, cell) for trial in launch.trials])

    def control(self, comparison: str) -> list[Launch]:
        """Return the launches of the baseline's second start."""
        return gather(self.controls.get(comparison, []))
