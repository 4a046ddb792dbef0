"""The samples of a script experiment, by cell, and what its file in `scripts` makes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from iobound.analysis import statistics
from iobound.records import (
    AnySummary,
    ClaimResult,
    Failure,
    Finding,
    Interval,
    Observation,
    Rounds,
    RunHeader,
    Sample,
    ScriptCell,
)

C = TypeVar("C", bound=ScriptCell)
S = TypeVar("S", bound=Sample)


@dataclass(frozen=True)
class Sampled(Generic[C, S]):
    """What was observed of a script experiment. `C` is its cell, `S` its sample.

    `samples` are those of each cell, `controls` those of the baseline's second launches; disturbed ones are left out where a
    cell has quiet ones. `noisy` counts what was disturbed.
    """

    header: RunHeader
    cells: dict[str, C]
    baseline: str
    samples: dict[str, list[S]]
    controls: list[S]
    noisy: dict[str, int]
    failures: dict[str, Failure]

    @classmethod
    def of(
        cls, header: RunHeader, rounds: Rounds, observations: Iterable[Observation], cell: type[C], sample: type[S]
    ) -> Sampled[C, S]:
        """Gather what was observed of the cells of `rounds`."""
        cells: dict[str, C] = {}
        for each in rounds.cells:
            if isinstance(each, cell):
                cells[each.id] = each
        samples: dict[str, list[S]] = {id_: [] for id_ in cells}
        controls: list[S] = []
        failures: dict[str, Failure] = {}
        for observation in observations:
            match observation:
                case Failure(comparison=rounds.experiment):
                    failures.setdefault(observation.cell, observation)
                case sample(control=True):
                    controls.append(observation)
                case sample():
                    samples[observation.cell].append(observation)
        noisy = {id_: sum(not each.noise.quiet for each in of) for id_, of in samples.items()}
        kept = {id_: _quiet(of) for id_, of in samples.items()}
        return cls(header, cells, rounds.baseline, kept, _quiet(controls), noisy, failures)

    def mean(self, cell: str, value: Callable[[S], float | None]) -> Interval | None:
        """Return the mean of `value` over the launches of `cell`, with its 95 % interval."""
        return statistics.mean(list(by_launch(self.samples[cell], value).values()))

    def ratio(self, cell: str, baseline: str, value: Callable[[S], float | None]) -> Interval | None:
        """Return `value` of `cell` over that of `baseline`, paired by round; ``None`` where no round has both."""
        return self.ratios([cell], baseline, value).get(cell)

    def ratios(self, cells: Sequence[str], baseline: str, value: Callable[[S], float | None]) -> dict[str, Interval]:
        """Return `value` of each of `cells` over that of `baseline`, paired by round; without those of which no round has both.

        All of them are compared at once: their intervals are corrected for that (Holm).
        """
        first = by_launch(self.samples[baseline], value)
        found = {cell: statistics.paired(by_launch(self.samples[cell], value), first) for cell in cells}
        pairs = {cell: pair for cell, pair in found.items() if pair}
        levels = statistics.holm([1.0 if pair.p is None else pair.p for pair in pairs.values()])
        return {cell: pair.interval(level) for (cell, pair), level in zip(pairs.items(), levels, strict=True)}


def by_launch(samples: Sequence[S], value: Callable[[S], float | None]) -> dict[int, float]:
    """Return the mean of `value` in each round; a launch that was measured again after noise counts once."""
    found: dict[int, list[float]] = {}
    for sample in samples:
        measured = value(sample)
        if measured is not None:
            found.setdefault(sample.launch, []).append(measured)
    return {launch: sum(values) / len(values) for launch, values in found.items()}


def _quiet(samples: list[S]) -> list[S]:
    return [sample for sample in samples if sample.noise.quiet] or samples


@dataclass(frozen=True)
class Judged:
    """What is made of a script experiment: its conclusion (one line, or a few), rows of results, findings and claims."""

    verdict: str
    summaries: Sequence[AnySummary]
    findings: Sequence[Finding] = field(default_factory=list)
    claims: Sequence[ClaimResult] = field(default_factory=list)
