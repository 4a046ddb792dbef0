"""The records of the experiment ``calls``."""

from __future__ import annotations

from iobound.records.scripts import Sample, ScriptCell, ScriptSummary


class CallCell(ScriptCell, frozen=True, tag="calls"):
    """One combination of levels of ``calls``."""


class CallSample(Sample, frozen=True, tag="calls"):
    """What one launch observed."""


class CallSummary(ScriptSummary, frozen=True, tag="calls"):
    """One row of the results."""
