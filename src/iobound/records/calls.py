"""The records of the experiment ``calls``: what primitives of calling and waiting cost."""

from __future__ import annotations

from iobound.records.base import Interval, Record
from iobound.records.scripts import Sample, ScriptCell, ScriptSummary


class CallCell(ScriptCell, frozen=True, kw_only=True, tag="calls"):
    """A family of primitives on an interpreter, and on an event loop where it needs one: measured in one process.

    `primitives` are those to measure. One value is measured for at least `target_s` seconds, and `values` are kept.
    """

    family: str
    loop: str | None
    primitives: list[str]
    target_s: float
    values: int


class Timing(Record, frozen=True):
    """One primitive as a process measured it: nanoseconds of one operation, one value each, without `overhead_ns`.

    `what` says what one operation is, `loops` how many of them a value consists of. `overhead_ns` is of one turn of an empty
    loop.
    """

    what: str
    ns: list[float]
    overhead_ns: float
    loops: int


class CallSample(Sample, frozen=True, tag="calls"):
    """What one process measured of a family; `errors` are those of primitives that failed."""

    timings: dict[str, Timing]
    errors: dict[str, str]


class CallSummary(ScriptSummary, frozen=True, tag="calls"):
    """One primitive on an interpreter: nanoseconds of one operation, over launches.

    `relative` is to a plain call on the same interpreter; ``None`` where that wasn't measured or is too short to be.
    """

    primitive: str
    loop: str | None
    what: str
    ns: Interval | None
    relative: Interval | None
