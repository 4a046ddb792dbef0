"""The records of the experiment ``bulk``."""

from __future__ import annotations

from iobound.records.scripts import Sample, ScriptCell, ScriptSummary


class BulkCell(ScriptCell, frozen=True, tag="bulk"):
    """One combination of levels of ``bulk``."""


class BulkSample(Sample, frozen=True, tag="bulk"):
    """What one launch observed."""


class BulkSummary(ScriptSummary, frozen=True, tag="bulk"):
    """One row of the results."""
