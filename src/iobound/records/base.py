"""What all records are made of: the base of each, the words they use, an estimate, and what disturbed a measurement."""

from __future__ import annotations

from typing import Literal

import msgspec

View = Literal["capacity", "fixed-rate"]
BoundBy = Literal[
    "target-cpu",
    "workers",
    "database-cpu",
    "database-locks",
    "pool",
    "network",
    "concurrency",
    "generator",
    "errors",
    "noise",
    "unknown",
]
Stage = Literal["unavailable", "start", "verify", "measure", "account"]
EndReason = Literal["precision", "launches", "budget", "interrupted"]
Status = Literal["present", "absent", "inconclusive", "not-measured"]
Ranking = Literal["faster", "slower", "tie", "not-ranked"]
Holds = Literal["holds", "fails", "holds-only-when", "not-measured"]


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all records: immutable, built by keyword."""


class Interval(Record, frozen=True):
    """An estimate with its 95 % confidence interval; the ends are ``None`` where one launch allows none."""

    estimate: float
    low: float | None = None
    high: float | None = None


class Noise(Record, frozen=True):
    """What disturbed a block. Shares are of one core over the block; `quiet` says whether the block counts."""

    steal: float
    foreign: float
    pressure: float | None
    quiet: bool
    because: str | None
