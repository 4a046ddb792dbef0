"""The records of a walk from one target to another, one factor at a time, and of the waterfall that is made of it."""

from __future__ import annotations

import msgspec

from iobound.records.base import BoundBy, Interval, Record


class Step(Record, frozen=True):
    """One factor from one level to another; `comparison` measures it, the lower level as its baseline."""

    factor: str
    before: str = msgspec.field(name="from")
    after: str = msgspec.field(name="to")
    comparison: str


class Walk(Record, frozen=True):
    """The way from the target `first` to the target `last`: `direct` is the comparison of the two themselves.

    The steps of `backwards` change the same factors in the opposite order, as far as they can be; it is empty where no
    other order is possible. `tool` is the comparison of the two by the publication's load tool. `notes` say what couldn't
    be changed alone.
    """

    id: str
    first: str
    last: str
    workload: str
    direct: str
    forwards: list[Step]
    backwards: list[Step] = []
    tool: str | None = None
    notes: list[str] = []


class StepRatio(Record, frozen=True):
    """What a step is worth: the throughput after it over that before it, as `comparison` measured it.

    `bound_by` says what bound the two throughputs, `reason` why the ratio means little, if it does.
    """

    factor: str
    before: str = msgspec.field(name="from")
    after: str = msgspec.field(name="to")
    comparison: str
    ratio: Interval | None
    bound_by: list[BoundBy | None]
    reason: str | None = None


class Waterfall(Record, frozen=True):
    """What the ratio of two targets is made of.

    `direct` is the ratio as measured between the two, `bound_by` what bound them, `reason` why it means little, if it does;
    `product` is that of the steps. `interaction` is direct over product, and ``None`` where the two agree within their
    intervals. `backwards` are the steps in the opposite order, `disagreeing` those that are worth another ratio there, beyond
    the intervals. `named` says of an interaction, and of steps that disagree, where it lies.
    """

    id: str
    first: str
    last: str
    workload: str
    direct: Interval | None
    bound_by: list[BoundBy | None]
    reason: str | None
    steps: list[StepRatio]
    product: Interval | None
    interaction: Interval | None
    named: str | None
    backwards: list[StepRatio]
    disagreeing: list[str]
    notes: list[str]
