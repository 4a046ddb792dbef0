"""The blocks of a cell, gathered by launch: what intervals are made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from iobound.analysis import latency
from iobound.analysis.latency import Latencies
from iobound.records import CpuUse, GeneratorUse, Trial

Metric = Literal["requests_per_second", "cpu_us_per_request"]
METRIC: dict[str, Metric] = {"capacity": "requests_per_second", "fixed-rate": "cpu_us_per_request"}
"""What a view is compared by: CPU per request at saturation and at a fixed rate are different quantities (rule 6)."""


@dataclass(frozen=True)
class Blocks:
    """Some blocks of one cell, added up. Blocks of a launch are equally long, so a sum over them is their average."""

    trials: list[Trial]

    def total(self, quantity: Callable[[Trial], float]) -> float:
        """Add up a quantity over the blocks."""
        return sum(map(quantity, self.trials))

    @property
    def seconds(self) -> float:
        """The time measured."""
        return self.total(lambda trial: trial.load.seconds)

    @property
    def requests(self) -> int:
        """Requests sent. What a request costs is counted per request sent: the server works on abandoned ones too."""
        return sum(trial.load.requests for trial in self.trials)

    @property
    def responses(self) -> int:
        """Right answers."""
        return sum(trial.load.responses for trial in self.trials)

    @property
    def failed(self) -> int:
        """Failures of every kind."""
        return sum(failures(trial) for trial in self.trials)

    @property
    def unanswered(self) -> int:
        """Requests still in flight when their block ended."""
        return sum(trial.load.unanswered for trial in self.trials)

    @property
    def overdue(self) -> int:
        """Requests of an open loop that were due and never sent."""
        return sum(trial.load.overdue for trial in self.trials)

    @property
    def requests_per_second(self) -> float:
        """Right answers a second."""
        return self.responses / self.seconds if self.seconds else 0.0

    @property
    def target_us(self) -> float | None:
        """The target's CPU (user and system) per request, in microseconds."""
        return self.per_request(lambda trial: target_s(trial.cpu) * 1e6)

    @property
    def database_us(self) -> float | None:
        """The service's CPU per request in microseconds; ``None`` where it isn't seen."""
        return self.per_request(lambda trial: None if trial.cpu.database_s is None else trial.cpu.database_s * 1e6)

    @cached_property
    def latencies(self) -> Latencies:
        """All latencies."""
        return latency.merge(latency.decode(trial.load.latency, trial.load.waited) for trial in self.trials)

    def per_request(self, quantity: Callable[[Trial], float | None]) -> float | None:
        """Return a quantity per request sent; ``None`` where a block lacks it or nothing was sent."""
        amounts = [quantity(trial) for trial in self.trials]
        known = [amount for amount in amounts if amount is not None]
        return sum(known) / self.requests if self.requests and len(known) == len(amounts) else None

    def cores(self, used_s: Callable[[Trial], float | None]) -> float | None:
        """Return how many cores were used within the blocks, from the CPU seconds in each; ``None`` where no block says."""

        def used(trial: Trial) -> float | None:
            seconds = used_s(trial)
            return None if seconds is None or not trial.load.seconds else seconds / trial.load.seconds

        return self.average(used)

    def average(self, quantity: Callable[[Trial], float | None]) -> float | None:
        """Average a quantity over time; ``None`` where no block has it."""
        pairs = [(quantity(trial), trial.load.seconds) for trial in self.trials]
        known = [(value, seconds) for value, seconds in pairs if value is not None]
        whole = sum(seconds for _, seconds in known)
        return sum(value * seconds for value, seconds in known) / whole if whole else None


@dataclass(frozen=True)
class Launch(Blocks):
    """The quiet blocks of one start of the target."""

    number: int


def gather(trials: Iterable[Trial]) -> list[Launch]:
    """Return the launches of a cell in order, noisy blocks left out."""
    quiet = sorted((trial for trial in trials if trial.noise.quiet), key=lambda trial: (trial.launch, trial.block))
    numbers = dict.fromkeys(trial.launch for trial in quiet)
    return [Launch([trial for trial in quiet if trial.launch == number], number) for number in numbers]


def means(launches: Iterable[Launch], metric: Metric) -> dict[int, float]:
    """Return the mean of each launch by its number; launches without one, or with none that is a number, are left out."""
    found = {
        launch.number: launch.requests_per_second if metric == "requests_per_second" else launch.target_us
        for launch in launches
    }
    return {number: value for number, value in found.items() if value is not None and math.isfinite(value)}


def failures(trial: Trial) -> int:
    """Count the failures of a block."""
    return sum(trial.load.errors.values())


def target_s(cpu: CpuUse) -> float:
    """Return the target's CPU seconds."""
    return cpu.target_user_s + cpu.target_system_s


def target_block_s(cpu: CpuUse) -> float:
    """Return the target's CPU seconds before the block ended; all of them where only these are known."""
    return target_s(cpu) if cpu.target_block_s is None else cpu.target_block_s


def database_block_s(cpu: CpuUse) -> float | None:
    """Return the service's CPU seconds before the block ended; all of them where only these are known."""
    return cpu.database_s if cpu.database_block_s is None else cpu.database_block_s


def generator_s(use: GeneratorUse) -> float:
    """Return the generator's CPU seconds, all its processes together."""
    return use.cpu_user_s + use.cpu_system_s
