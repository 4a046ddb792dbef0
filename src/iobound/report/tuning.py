"""What tuning found, on the terminal: default, best and sensitivity of every target, and best against best."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from iobound.records import Ratio, Tuned
from iobound.report import terminal, words
from iobound.report.sections import Grid, Section


def render(found: Sequence[Tuned], bests: Sequence[Ratio], console: Console) -> None:
    """Print the tables."""
    for part in terminal.section(section(found, bests)):
        console.print(part)


def section(found: Sequence[Tuned], bests: Sequence[Ratio]) -> Section:
    """Return what tuning found as a section of a report."""
    grids = [_overview(found), *map(_sensitivity, found)]
    if bests:
        rows = [[_name(ratio.cell), _name(ratio.baseline), words.ratio(ratio)] for ratio in bests]
        grids.append(Grid("Best against best", ["target", "against", "throughput"], rows))
    return Section(
        title="Equal tuning",
        text=["Every target got the same search: each setting by itself, then the best levels together."],
        grids=grids,
    )


def _overview(found: Sequence[Tuned]) -> Grid:
    rows = [
        [
            each.target,
            words.interval(each.default_requests_per_second),
            words.bound(each.bound_by) if each.bound_by else "–",
            _best(each),
            words.interval(each.gain, "x") if each.best else "–",
            each.gain_reason or "",
        ]
        for each in found
    ]
    columns = ["target", "default, requests/s", "bound by", "best", "gain [95 %]", ""]
    return Grid("Default and best", columns, rows, numbers=(1, 4))


def _sensitivity(tuned: Tuned) -> Grid:
    rows = [
        [
            each.setting,
            str(each.level),
            f"{words.interval(each.ratio, 'x')} of {each.default}" if each.ratio else "–",
            words.bound(each.bound_by) if each.bound_by else "–",
            each.verdict.replace("-", " "),
        ]
        for each in tuned.sensitivity
    ]
    unranked: dict[str, list[str]] = {}
    for each in tuned.sensitivity:
        if each.verdict == "not-ranked" and each.reason:
            unranked.setdefault(each.reason, []).append(f"{each.setting} {each.level}")
    notes = [f"{', '.join(levels)}: {reason}." for reason, levels in unranked.items()]
    columns = ["setting", "level", "over the default", "bound by", ""]
    return Grid(f"Sensitivity of {tuned.target}", columns, rows, numbers=(1, 2), notes=notes)


def _best(tuned: Tuned) -> str:
    if all(each.verdict == "not-ranked" for each in tuned.sensitivity):
        return "can't be told" if tuned.sensitivity else "nothing to tune"
    return words.labels(tuned.best) or "its defaults"


def _name(cell: str) -> str:
    return cell.rpartition("/best/")[2]
