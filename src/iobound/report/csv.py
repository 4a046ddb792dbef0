"""The cells of a run as a table with one row a cell, for spreadsheets and data frames."""

from __future__ import annotations

import csv
import io
from pathlib import PurePath

from iobound.records import CellSummary, Interval, Judgement, RunHeader

FACTS = [
    *("experiment", "comparison", "target", "workload", "view", "concurrency", "rate", "engine", "service", "rtt_ms"),
    *("valid", "invalid_because", "at_least", "bound_by", "bound_because", "launches", "blocks", "noisy_blocks"),
]
COUNTS = [
    *("statements_per_request", "transaction_control_per_request", "rows_per_request", "round_trips_per_request"),
    *("active_at_service", "target_utilisation", "generator_utilisation"),
]
LATENCIES = ["p50", "p90", "p99", "p99.9", "max", "mean"]
CPU = ["target_user", "target_system", "database", "generator", "other"]
ESTIMATES = [
    "requests_per_second",
    *(f"latency_{key}_ms" for key in LATENCIES),
    *(f"cpu_{part}_us" for part in CPU),
    *("wait_us", "in_flight"),
]


def render(header: RunHeader, judgement: Judgement, run: str | PurePath) -> str:
    """Return the table, with the same columns for every run. An invalid cell has a reason and no figures."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    ends = [f"{name}{end}" for name in ESTIMATES for end in ("", "_low", "_high")]
    writer.writerow([*FACTS, *COUNTS, *ends])
    for cell in judgement.cells:
        writer.writerow([*(_harmless(getattr(cell, name)) for name in FACTS), *(_figures(cell) if cell.valid else [])])
    return text.getvalue()


def _figures(cell: CellSummary) -> list[float | None]:
    estimates: list[Interval | None] = [
        cell.requests_per_second,
        *((cell.latency_ms or {}).get(key) for key in LATENCIES),
        *(getattr(cell.cpu_us_per_request, part, None) for part in CPU),
        cell.wait_us_per_request,
        cell.in_flight,
    ]
    figures = [getattr(cell, name) for name in COUNTS]
    for each in estimates:
        figures += [each.estimate, each.low, each.high] if each else [None] * 3
    return figures


def _harmless(value: object) -> object:
    """Keep a spreadsheet from taking a text for a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@")) else value
