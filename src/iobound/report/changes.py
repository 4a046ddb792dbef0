"""What changed from one run to another, on the terminal."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table

from iobound.records import Change
from iobound.report import words

METRIC = {"requests_per_second": "requests/s", "cpu_us_per_request": "CPU a request"}


def render(changes: list[Change], differing: list[str], console: Console) -> None:
    """Print a row for each cell that both runs have, and above it what differs between the runs."""
    console.print("Differs between the runs: " + ("; ".join(differing) or "nothing that was recorded"))
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("workload", "view", "target", "metric", "second / first"):
        table.add_column(column, overflow="fold")
    for change in changes:
        table.add_row(change.workload, change.view, change.target, METRIC[change.metric], outcome(change))
    console.print(table)
    console.print("The runs were made at different times: what drifted between them is in the ratios.")


def outcome(change: Change) -> str:
    """Write the ratio and the verdict of a change, or why it has none."""
    if change.verdict == "not-ranked" or change.ratio is None:
        return f"not ranked: {change.reason}"
    return f"{words.interval(change.ratio, 'x')} {change.verdict}"
