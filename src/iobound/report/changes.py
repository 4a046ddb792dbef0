"""What changed from one run to another, on the terminal."""

from __future__ import annotations

from itertools import groupby

from rich.console import Console
from rich.table import Table
from rich.text import Text

from iobound.records import Change
from iobound.report import words

METRIC = {"requests_per_second": "requests/s", "cpu_us_per_request": "CPU a request"}


def render(changes: list[Change], differing: list[str], console: Console) -> None:
    """Print what differs between the runs, then for each comparison a row for each cell that both runs have."""
    console.print(Text("Differs between the runs: " + ("; ".join(differing) or "nothing that was recorded")))
    console.print("Ratios are the second run over the first.")
    width = max((len(change.target) for change in changes), default=0)
    for where, cells in groupby(changes, key=asked):
        console.print(Text(f"\n{where}"))
        table = Table.grid(padding=(0, 2))
        table.add_column(min_width=width + 2)
        for change in cells:
            table.add_row(Text(f"  {change.target}"), Text(outcome(change)))
        console.print(table)
    console.print("\nThe runs were made at different times: what drifted between them is in the ratios.")


def asked(change: Change) -> str:
    """Write what the cells of a comparison were asked, and the metric that their ratios are of."""
    return f"{change.cell.removesuffix(f'/{change.target}')}: {METRIC[change.metric]}"


def outcome(change: Change) -> str:
    """Write the ratio and the verdict of a change, or why it has none."""
    if change.verdict == "not-ranked" or change.ratio is None:
        return f"not ranked: {change.reason}"
    return f"{words.interval(change.ratio, 'x')} {change.verdict}"
