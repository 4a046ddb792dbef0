"""The records of the experiment ``transfer``."""

from __future__ import annotations

from iobound.records.scripts import Sample, ScriptCell, ScriptSummary


class TransferCell(ScriptCell, frozen=True, tag="transfer"):
    """One combination of levels of ``transfer``."""


class TransferSample(Sample, frozen=True, tag="transfer"):
    """What one launch observed."""


class TransferSummary(ScriptSummary, frozen=True, tag="transfer"):
    """One row of the results."""
