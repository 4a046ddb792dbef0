"""How figures and cells are called in the sentences of findings, claims and the verdict."""

from __future__ import annotations

from collections.abc import Sequence

from iobound.records import CellSummary, Interval


def name(cell: CellSummary) -> str:
    """Call a cell by its target and what sets it apart: ``flask/werkzeug (sql-list, 10 connections)``."""
    load = f"{cell.rate:,.0f}/s" if cell.rate else f"{cell.concurrency} connection{'s' * (cell.concurrency != 1)}"
    engine = "" if cell.engine == "iobound" else f", by {cell.engine}"
    return f"{cell.target} ({cell.workload}, {load}{engine})"


def listed(names: Sequence[str], most: int = 4) -> str:
    """Join names with commas and "and"; the rest beyond `most` is counted."""
    shown = list(names[:most])
    if len(names) > most:
        shown.append(f"{len(names) - most} more")
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def figure(value: float) -> str:
    """Write a figure with about three significant digits."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def estimated(interval: Interval, unit: str = "") -> str:
    """Write ``1.42x [1.37, 1.47]``, or the estimate alone where there is no interval."""
    if interval.low is None or interval.high is None:
        return f"{figure(interval.estimate)}{unit}"
    return f"{figure(interval.estimate)}{unit} [{figure(interval.low)}, {figure(interval.high)}]"


def cells(count: int) -> str:
    """Count cells."""
    return f"{count} cell{'s' * (count != 1)}"
