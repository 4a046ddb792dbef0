"""What the report shows of a script experiment: text, tables and charts, the same in every format.

A file in `scripts` makes the section of its experiment: ``section(header, judgement, summaries) -> Section``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from iobound.records import ClaimResult, Judgement
from iobound.report import words

if TYPE_CHECKING:
    from iobound.report.drawing import Figure


@dataclass(frozen=True)
class Grid:
    """A table of text. `numbers` says which columns are numbers, `faint` which rows mean nothing; `notes` stand below.

    The rows `aside` are for a page, where there is room; elsewhere the note `instead` stands for them.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: Sequence[int] = ()
    faint: Sequence[int] = ()
    notes: Sequence[str] = ()
    aside: Sequence[int] = ()
    instead: str = ""

    def brief(self) -> Grid:
        """Return it without the rows that are for a page."""
        if not self.aside:
            return self
        kept = [number for number in range(len(self.rows)) if number not in self.aside]
        return replace(
            self,
            rows=[self.rows[number] for number in kept],
            faint=[place for place, number in enumerate(kept) if number in self.faint],
            notes=[*self.notes, self.instead],
            aside=(),
        )


@dataclass(frozen=True)
class Section:
    """One experiment. `figures` are drawn when they are asked for, which only the HTML report does."""

    title: str
    text: Sequence[str]
    grids: Sequence[Grid]
    figures: Callable[[], Sequence[Figure]] = list


def claims(judgement: Judgement, experiment: str, measured_by: str | None = None) -> Grid | None:
    """Return what was published beside what was measured here, and what follows; ``None`` where nothing was claimed.

    `measured_by` is the command that measures all of it; without one, what each of the missing takes is said.
    """
    of = [claim for claim in judgement.claims if claim.experiment == experiment]
    if not of:
        return None
    rows = [[claim.statement, words.published(claim), _here(claim), words.outcome(claim)] for claim in of]
    missing = [number for number, claim in enumerate(of) if claim.result == "not-measured"]
    why = "; ".join(dict.fromkeys(of[number].because for number in missing))
    return Grid(
        "Published, and here",
        ["published statement", "published", "here", "and so"],
        rows,
        numbers=(1, 2),
        aside=missing,
        instead=f"Not measured: {len(missing)} of {len(of)}; {f'to measure all: {measured_by}' if measured_by else why}",
    )


def _here(claim: ClaimResult) -> str:
    return words.interval(claim.here, "x" if claim.unit in {"x", "ratio"} else "") if claim.here else "–"
