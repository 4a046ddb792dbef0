"""The records of the experiment ``bulk``."""

from __future__ import annotations

from typing import Literal

from iobound.records.base import BoundBy, Interval, Record
from iobound.records.scripts import Sample, ScriptCell, ScriptSummary

Phase = Literal["geo", "data"]
Transaction = Literal["autocommit", "line"]
Statements = Literal["single", "executemany", "pipeline", "copy"]
Feeding = Literal["preloaded", "streaming", "published"]
BadLines = Literal["refuse", "report"]


class BulkCell(ScriptCell, frozen=True, kw_only=True, tag="bulk"):
    """One combination of levels of ``bulk``.

    `driver` is the name that was asked for, `part` the driver's file. `data` is the folder of the census, ``None`` for records
    made from the seed of the run.
    """

    model: str
    driver: str
    part: str
    connections: int
    lines: int
    data: str | None
    transaction: Transaction
    statements: Statements
    feeder: Feeding
    bad_lines: BadLines


class BulkPhase(Record, frozen=True):
    """A phase of one launch: ``geo``, one INSERT a line, or ``data``, the values of each line.

    `rows` were committed, by the workers from `rows_least` to `rows_most`. The CPU is of all processes of workers, and of the
    database's (``None`` where they aren't ours to see). `empty_s` is how long workers found the queue empty, summed over them;
    `retried` counts lines that were loaded again since their connection was lost. `waits` are the mean numbers of sessions by
    what they waited for in the database, as it calls it, ``None`` where the phase was over before one could look.
    `window_rows_per_second` is the rate as the published suite gave it, of its feeder only. `relay_s` and `round_trips` are the
    CPU and the count of the relay, where there is one.
    """

    phase: Phase
    rows: int
    wall_s: float
    user_s: float
    system_s: float
    database_s: float | None
    rows_least: int
    rows_most: int
    empty_s: float
    retried: int
    waits: dict[str, float] | None
    window_rows_per_second: float | None = None
    relay_s: float | None = None
    round_trips: int | None = None


class BulkSample(Sample, frozen=True, tag="bulk"):
    """What one launch observed. All that it was to load is in the database, and nothing else: otherwise there is none.

    `processes` are those of the workers, on `target_cores`. `bad_lines` says of each line of the data that was left out what is
    wrong with it (of the first 10).
    """

    phases: list[BulkPhase]
    processes: int
    target_cores: int
    feeder_cpu_s: float
    bad_lines: list[str]


class BulkSummary(ScriptSummary, frozen=True, tag="bulk"):
    """One row of the results: a phase of a cell.

    `rows` are those of one launch, `verified` whether all that was to be loaded was found in the database, every value of it.
    `relative` is the rate over that of `relative_to`, a cell that differs in its model and driver only, or in its feeder,
    interpreter, transactions or statements. `idle_share` is how much of the workers' time the queue was found empty.
    `fairness` is the least that a worker loaded over the most. `waits` are the mean numbers of sessions by what they wait
    for in the database.
    """

    model: str
    driver: str
    connections: int
    phase: Phase
    lines: int
    transaction: Transaction
    statements: Statements
    feeder: Feeding
    rows: int | None
    rows_per_second: Interval | None
    verified: bool
    bound_by: BoundBy | None
    bound_because: str | None
    relative: Interval | None
    relative_to: str | None
    client_cpu_us_per_row: Interval | None
    client_user_us_per_row: Interval | None
    client_system_us_per_row: Interval | None
    database_cpu_us_per_row: Interval | None
    feeder_empty_s: float | None
    idle_share: float | None
    rows_least: int | None
    rows_most: int | None
    fairness: float | None
    retried: int
    waits: dict[str, float]
    window_rows_per_second: Interval | None
    round_trips_per_row: float | None
    bad_lines: list[str]
