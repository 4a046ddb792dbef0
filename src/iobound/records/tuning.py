"""The records of equal tuning."""

from __future__ import annotations

from iobound.records.base import BoundBy, Interval, Ranking, Record


class Setting(Record, frozen=True):
    """One level of a setting of a target: the throughput at it over that at the default, the other settings at theirs.

    `bound_by` is what bound the throughput at the level.
    """

    target: str
    setting: str
    level: int
    default: int
    ratio: Interval | None
    verdict: Ranking
    reason: str | None
    bound_by: BoundBy | None


class Tuned(Record, frozen=True):
    """What tuning made of a target: `best` are the settings that are better than their defaults, `gain` what they are worth
    together over the default. `sensitivity` is what each level was worth by itself.

    `default_requests_per_second` is the throughput at the default, from the first of the comparisons that include it, and
    `bound_by` what bound it.
    """

    target: str
    default_requests_per_second: Interval | None
    bound_by: BoundBy | None
    best: dict[str, str]
    gain: Interval | None
    gain_reason: str | None
    sensitivity: list[Setting]
