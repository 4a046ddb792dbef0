"""The records of the experiment ``drivers``."""

from __future__ import annotations

from typing import Literal

from iobound.records.base import Interval, Record
from iobound.records.scripts import Sample, ScriptCell, ScriptSummary

Phase = Literal["insert", "select", "point", "wide"]
Layer = Literal["driver", "orm", "event loop", "application", "interpreter"]
WaitSource = Literal["remainder"]


class DriverCell(ScriptCell, frozen=True, kw_only=True, tag="drivers"):
    """A driver, or an ORM on one, whose single statements are measured.

    `rung` is where it stands on the ladder of its service: a driver, SQLAlchemy Core, or an ORM; `beneath` is the driver that
    the latter two run on. `rows` are what each SELECT returns, `inserts` how many of them are inserted one by one. `times` are
    the statements of the other phases, of which fewer are carried out where they take more than `most_s` seconds.
    """

    driver: str
    title: str
    rung: Literal["driver", "core", "orm"]
    beneath: str | None
    rows: int
    inserts: int
    times: dict[Phase, int]
    most_s: float


class PhaseUse(Record, frozen=True):
    """What the statements of one phase took, in all. The wall time is the sum of the next four.

    `threads_s` is the CPU of other threads than the main one, part of `user_s` and `system_s`; `database_s` that of the
    processes of the service, ``None`` where they can't be seen; `round_trips` those counted on the driver's socket.
    """

    statements: int
    rows: int
    wall_s: float
    user_s: float
    system_s: float
    runqueue_s: float
    wait_s: float
    threads_s: float
    database_s: float | None
    round_trips: int | None


class ProfiledPhase(Record, frozen=True):
    """What cProfile saw of a phase: function calls, and the seconds in sockets where Python calls them; and what it took so."""

    statements: int
    wall_s: float
    runqueue_s: float
    calls: int
    sockets_s: float


class DriverSample(Sample, frozen=True, kw_only=True, tag="drivers"):
    """One process with one connection, which carried out each phase.

    `json_s` is what making the JSON of an answer out of the rows of one SELECT took. `profiled` and `stacks` are repetitions:
    under cProfile, and in one launch samples of what was on a processor during SELECTs, counted by stack (functions from the
    outermost on, separated by ``;``); `unsampled` says why there are none.
    """

    phases: dict[Phase, PhaseUse]
    json_s: float
    profiled: dict[Phase, ProfiledPhase]
    stacks: dict[str, int]
    unsampled: str | None


class Profile(Record, frozen=True):
    """What cProfile, one more method, says of a statement: `bias` is the time under it over that without, run queues apart.

    `sockets_share` is the share of the profiled time in sockets, run queues apart, as far as Python calls them: what a reader
    of the profile takes for waiting.
    """

    wall_us: float
    bias: float
    sockets_share: float


class LayerShare(Record, frozen=True):
    """The part of a layer in what was on a processor: its share of the samples, and of the user time, in microseconds."""

    layer: Layer
    samples: int
    share: float
    user_us: float


class Rung(Record, frozen=True):
    """A step of the ladder from driver to JSON: what it adds to a SELECT, run queues apart, and its share of the whole."""

    name: str
    added_us: float
    share: float


class DriverSummary(ScriptSummary, frozen=True, kw_only=True, tag="drivers"):
    """A phase of a driver. Times are per statement, in microseconds.

    `wall_us` is the sum of `user_us`, `system_us`, `runqueue_us` and `wait_us`; where the last comes from says `wait_source`.
    `threads_us` is part of the CPU: that of other threads. `database_us` is the CPU of the service's processes meanwhile,
    beside it. `io_bound_index` is wait over wall: the share of time in which the client could have done something else.
    `relative` is the wall time over that of `baseline`, a row of the same service and phase: of its first driver, or on further
    interpreters of the same driver on the first. `function_calls` are those of a
    statement, as cProfile counts them. Of SELECTs alone: `json_us` (what the JSON of an answer takes), `ladder` (the steps from
    the driver beneath up to JSON), `layers`, and the samples behind them: `stacks`, of `functions` whose layers are known.
    """

    driver: str
    title: str
    rung: Literal["driver", "core", "orm"]
    phase: Phase
    statements: int
    rows: int
    wall_us: Interval
    user_us: Interval
    system_us: Interval
    runqueue_us: Interval
    wait_us: Interval
    wait_source: WaitSource
    threads_us: Interval
    database_us: Interval | None
    io_bound_index: Interval
    round_trips: float | None
    baseline: str
    relative: Interval | None
    function_calls: float | None
    profile: Profile | None
    json_us: Interval | None = None
    layers: list[LayerShare] = []
    ladder: list[Rung] = []
    stacks: dict[str, int] = {}
    functions: dict[str, Layer] = {}
