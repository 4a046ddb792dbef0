"""What a cell asks of its service per request, and whether two cells ask the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from iobound.analysis.evidence import statements
from iobound.analysis.launches import Blocks
from iobound.records import Trial

SAME = 0.01  # relative: counters are read a moment beside the block
SAME_AT_LEAST = 0.02  # absolute, a request: statements of connecting, spread over a block


@dataclass(frozen=True)
class Demand:
    """A count per request: per request sent, and, if the abandoned ones never reached the service, per answered one."""

    low: float
    high: float

    def differs(self, other: Demand) -> bool:
        """Whether two demands can't be the same."""
        gap = max(self.low, other.low) - min(self.high, other.high)
        return gap > max(SAME * max(self.low, other.low), SAME_AT_LEAST)


def demand(blocks: Blocks, quantity: Callable[[Trial], int | None]) -> Demand | None:
    """Return what `blocks` asked for per request; ``None`` where the service doesn't count or nothing was answered."""
    low = blocks.per_request(quantity)
    if low is None or blocks.requests <= blocks.unanswered:
        return None
    return Demand(low, low * blocks.requests / (blocks.requests - blocks.unanswered))


def difference(contender: Blocks, baseline: Blocks) -> str | None:
    """Say what two cells ask differently of the service per request, data statements or rows; ``None`` where nothing."""
    for name, quantity in (("data statements", statements), ("rows", rows)):
        mine, other = demand(contender, quantity), demand(baseline, quantity)
        if mine and other and mine.differs(other):
            return f"{mine.low:.4g} {name} a request against {other.low:.4g}: they don't do the same work"
    return None


def rows(trial: Trial) -> int | None:
    """Count the rows that the service sent or changed in a block."""
    return trial.service.rows if trial.service else None
