"""A report as text."""

from __future__ import annotations

from iobound.records.race import Level, Report


def text(report: Report) -> str:
    """Return all levels."""
    return "\n".join(f"{level.isolation or 'default'}: {verdict(level)}" for level in report.levels)


def verdict(level: Level) -> str:
    """Return the verdict in words, such as ``holds (50/50 schedules, exhaustive)``."""
    how = "exhaustive" if level.exhaustive else "not exhaustive"
    return f"{level.verdict} ({level.schedules} schedules, {how}, {level.violations} violated)"
