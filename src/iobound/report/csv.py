"""The results of a run as a table with one row a cell, for spreadsheets and data frames."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import PurePath

from iobound.records import AnySummary, CellSummary, Interval, Judgement, RunHeader

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
ENDS = ("", "_low", "_high")


def render(header: RunHeader, judgement: Judgement, run: str | PurePath) -> str:
    """Return the table. An invalid cell has a reason and no figures.

    The columns are those of web cells in every run; what script experiments have more comes after them, in the runs that have
    such rows.
    """
    text = io.StringIO()
    columns = [*FACTS, *COUNTS, *(f"{name}{end}" for name in ESTIMATES for end in ENDS)]
    scripts = [dict(_script(row)) for row in judgement.scripts]
    writer = csv.DictWriter(
        text, list(dict.fromkeys([*columns, *(name for row in scripts for name in row)])), lineterminator="\n"
    )
    writer.writeheader()
    for cell in judgement.cells:
        facts = [_harmless(getattr(cell, name)) for name in FACTS]
        writer.writerow(dict(zip(columns, [*facts, *(_figures(cell) if cell.valid else [])], strict=False)))
    writer.writerows(scripts)
    return text.getvalue()


def _script(row: AnySummary) -> Iterator[tuple[str, object]]:
    """Yield the fields of a row that fit a table, by column: an interval has three, what is a list or a mapping none."""
    yield "experiment", row.experiment
    for name in row.__struct_fields__:
        value = getattr(row, name)
        if isinstance(value, Interval):
            ends = (value.estimate, value.low, value.high) if row.valid else (None, None, None)
            yield from zip((f"{name}{end}" for end in ENDS), ends, strict=True)
        elif value is None or isinstance(value, (str, int, float)):
            yield name, _harmless(value)


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
