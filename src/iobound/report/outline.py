"""The sections of a report beside its web comparisons: the walks, then the script experiments in the order of the plan."""

from __future__ import annotations

from importlib import import_module

from iobound.records import Judgement, RunHeader
from iobound.report.sections import Section


def sections(header: RunHeader, judgement: Judgement) -> list[Section]:
    """Return the sections of what was measured."""
    made = [import_module("iobound.report.waterfalls").section(fall) for fall in judgement.waterfalls]
    for rounds in header.plan.scripts:
        summaries = [each for each in judgement.scripts if each.experiment == rounds.experiment]
        if summaries:
            made.append(import_module(f"iobound.report.scripts.{rounds.experiment}").section(header, judgement, summaries))
    return made
