"""What primitives cost, from the samples of ``calls``: nanoseconds by launch, ratios and differences paired by launch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from iobound.analysis import statistics
from iobound.analysis.sampled import Sampled, by_launch
from iobound.records import CallCell, CallSample, Interval

SHORTEST = 0.1  # of a turn of an empty loop: below, a compiler has left the primitive out

Launches = Mapping[int, float]


@dataclass(frozen=True)
class Key:
    """A primitive on an interpreter, and on an event loop where it needs one."""

    python: str
    primitive: str
    loop: str | None = None


def fastest_ns(primitive: str, at_least: float = 0.0) -> Callable[[CallSample], float | None]:
    """Return what reads the fastest value of a primitive from a sample: what disturbs a launch only adds to the others.

    It reads ``None`` where the primitive wasn't measured, or takes less than `at_least` turns of an empty loop.
    """

    def read(sample: CallSample) -> float | None:
        timing = sample.timings.get(primitive)
        return min(timing.ns) if timing and min(timing.ns) >= at_least * timing.overhead_ns else None

    return read


@dataclass(frozen=True)
class Costs:
    """Nanoseconds of each primitive by launch, as far as it was measured; `solid` has those that a ratio may be taken to."""

    ns: dict[Key, Launches]
    solid: dict[Key, Launches]

    @classmethod
    def of(cls, sampled: Sampled[CallCell, CallSample]) -> Costs:
        """Read them from samples."""
        ns: dict[Key, Launches] = {}
        solid: dict[Key, Launches] = {}
        for id_, cell in sampled.cells.items():
            for primitive in cell.primitives:
                key = Key(cell.python or "", primitive, cell.loop)
                ns[key] = by_launch(sampled.samples[id_], fastest_ns(primitive))
                solid[key] = by_launch(sampled.samples[id_], fastest_ns(primitive, SHORTEST))
        return cls(ns, solid)

    @property
    def pythons(self) -> list[str]:
        """The interpreters, in the order of the plan."""
        return list(dict.fromkeys(key.python for key in self.ns))

    def mean(self, key: Key) -> Interval | None:
        """Return the nanoseconds of a primitive over launches; ``None`` where it wasn't measured."""
        return statistics.mean(list(self.ns.get(key, {}).values()))

    def ratio(self, key: Key, baseline: Key) -> Interval | None:
        """Return how many times the baseline a primitive costs; ``None`` where that can't be said."""
        return ratio(self.ns.get(key, {}), self.solid.get(baseline, {}))

    def difference(self, key: Key, baseline: Key) -> Launches:
        """Return by launch how many nanoseconds more than the baseline a primitive takes."""
        less = self.ns.get(baseline, {})
        return {launch: ns - less[launch] for launch, ns in self.ns.get(key, {}).items() if launch in less}


def ratio(contender: Launches, baseline: Launches) -> Interval | None:
    """Return the ratio of two costs, paired by launch; ``None`` where no launch has both, or one isn't positive."""
    pair = statistics.paired(contender, baseline)
    return pair.interval() if pair else None
