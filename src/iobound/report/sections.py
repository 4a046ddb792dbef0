"""What the report shows of a script experiment: text, tables and charts, the same in every format.

A file in `scripts` makes the section of its experiment: ``section(header, judgement, summaries) -> Section``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from iobound.records import ClaimResult, Judgement
from iobound.report import words
from iobound.report.drawing import Figure


@dataclass(frozen=True)
class Grid:
    """A table of text. `numbers` says which columns are numbers, `faint` which rows mean nothing; `notes` stand below."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: Sequence[int] = ()
    faint: Sequence[int] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Section:
    """One experiment. `figures` are drawn when they are asked for, which only the HTML report does."""

    title: str
    text: Sequence[str]
    grids: Sequence[Grid]
    figures: Callable[[], Sequence[Figure]] = list


def claims(judgement: Judgement, experiment: str) -> Grid | None:
    """Return what was published beside what was measured here, and what follows; ``None`` where nothing was claimed."""
    of = [claim for claim in judgement.claims if claim.experiment == experiment]
    if not of:
        return None
    rows = [[claim.statement, words.published(claim), _here(claim), words.outcome(claim)] for claim in of]
    return Grid("Published, and here", ["published statement", "published", "here", "and so"], rows, numbers=(1, 2))


def _here(claim: ClaimResult) -> str:
    return words.interval(claim.here, "x" if claim.unit in {"x", "ratio"} else "") if claim.here else "–"
