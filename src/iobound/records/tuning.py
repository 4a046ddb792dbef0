"""The records of equal tuning."""

from __future__ import annotations

from iobound.records.base import Interval, Ranking, Record


class Setting(Record, frozen=True):
    """One level of a setting of a target: the throughput at it over that at the default, the other settings at theirs."""

    target: str
    setting: str
    level: int
    ratio: Interval | None
    verdict: Ranking
    reason: str | None


class Tuned(Record, frozen=True):
    """What tuning made of a target: `best` are the settings that are better than their defaults, `gain` what they are worth
    together over the default. `sensitivity` is what each level was worth by itself.

    `default_requests_per_second` is the throughput at the default, from the first of the comparisons that include it.
    """

    target: str
    default_requests_per_second: Interval | None
    best: dict[str, str]
    gain: Interval | None
    gain_reason: str | None
    sensitivity: list[Setting]
