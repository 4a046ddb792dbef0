"""What the experiments have in common whose targets are scripts: programs that do one job, say what it took, and end.

Each of them has a file of its own beside this one, with its cell, its sample and its summary.
"""

from __future__ import annotations

from iobound.records.base import Noise, Record


class ScriptCell(Record, frozen=True, tag_field="experiment"):
    """One combination of levels of a script experiment; the tag says of which. `id` is unique within a run.

    `python` is the interpreter as it was asked for, ``None`` for iobound's own. `rtt_ms` is the round-trip time put between
    the program and its service.
    """

    id: str
    python: str | None = None
    service: str | None = None
    rtt_ms: float = 0.0

    @property
    def experiment(self) -> str:
        """The experiment that this is a cell of."""
        return str(self.__struct_config__.tag)


class Sample(Record, frozen=True):
    """One launch of the program of a script cell: the raw observation.

    `launch` is the round, in which every cell of the experiment is launched once; `control` marks the second launch of the
    baseline. `ran` holds the labels read from the running process.
    """

    cell: str
    launch: int
    control: bool
    started: float
    noise: Noise
    ran: dict[str, str]


class ScriptSummary(Record, frozen=True, tag_field="experiment"):
    """One row of the results of a script experiment: what was made of the samples of a cell.

    `launches` counts those that the figures are made of, `noisy` those that were disturbed, which don't count while there
    are others. Where `valid` is false the figures mean nothing, for the reason that is given.
    """

    id: str
    cell: str
    python: str | None
    service: str | None
    rtt_ms: float
    valid: bool
    invalid_because: str | None
    launches: int
    noisy: int
    ran: dict[str, str]

    @property
    def experiment(self) -> str:
        """The experiment that this is a result of."""
        return str(self.__struct_config__.tag)
