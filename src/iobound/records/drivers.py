"""The records of the experiment ``drivers``."""

from __future__ import annotations

from iobound.records.scripts import Sample, ScriptCell, ScriptSummary


class DriverCell(ScriptCell, frozen=True, tag="drivers"):
    """One combination of levels of ``drivers``."""


class DriverSample(Sample, frozen=True, tag="drivers"):
    """What one launch observed."""


class DriverSummary(ScriptSummary, frozen=True, tag="drivers"):
    """One row of the results."""
