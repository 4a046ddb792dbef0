"""How figures and cells are called in the sentences of findings, claims and the verdict."""

from __future__ import annotations

from collections.abc import Sequence

from iobound.records import BoundBy, CellSummary, Interval

BOUND: dict[BoundBy, str] = {
    "target-cpu": "{its} own CPU",
    "workers": "{its} own workers",
    "database-cpu": "the database's CPU",
    "database-locks": "locks in the database",
    "pool": "{its} own connection pool",
    "network": "round trips",
    "concurrency": "the number of connections",
    "generator": "the load generator",
    "errors": "errors",
    "noise": "noise",
    "unknown": "something unseen",
}


def name(cell: CellSummary) -> str:
    """Call a cell by its target and what sets it apart: ``flask/werkzeug (sql-list, 10 connections)``."""
    load = f"{cell.rate:,.0f}/s" if cell.rate else f"{cell.concurrency} connection{'s' * (cell.concurrency != 1)}"
    engine = "" if cell.engine == "iobound" else f", by {cell.engine}"
    return f"{cell.target} ({cell.asked}, {load}{engine})"


def bound_by(value: BoundBy, count: int = 1) -> str:
    """Say what `count` targets were bound by: ``bound by their own CPU``."""
    return f"bound by {BOUND[value].format(its='its' if count == 1 else 'their')}"


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
    size = abs(interval.estimate)
    places = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 0.1 else 4
    return f"{interval.estimate:,.{places}f}{unit} [{interval.low:,.{places}f}, {interval.high:,.{places}f}]"


def span(ratios: Sequence[Interval]) -> str:
    """Write the ratios of several pairs as ``1.99x to 11.4x``."""
    ends = [f"{figure(end(ratio.estimate for ratio in ratios))}x" for end in (min, max)]
    return " to ".join(dict.fromkeys(ends))


def cells(count: int) -> str:
    """Count cells."""
    return f"{count} cell{'s' * (count != 1)}"
