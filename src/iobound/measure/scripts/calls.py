"""One launch of a family of primitives: a process that measures each of them, and prints what it found."""

from __future__ import annotations

import msgspec

from iobound.errors import LabError, Unavailable
from iobound.lab import primitives, scripts
from iobound.lab.laboratory import Laboratory
from iobound.lab.scripts import Line
from iobound.measure.rounds import Turn
from iobound.measure.watch import watch
from iobound.records import CallCell, CallSample
from iobound.records.calls import Timing

TIMEOUT_S = 120.0


def environments(cell: CallCell) -> list[tuple[str, str | None]]:
    """Return the locked environment that `cell` needs, if any."""
    return [(primitives.LOCK, cell.python)] if primitives.needs_packages(cell.family, cell.loop) else []


def measure(cell: CallCell, turn: Turn, laboratory: Laboratory) -> CallSample:
    """Measure `cell` in a process of its own.

    Raises `Unavailable` where a package doesn't install on the interpreter, `LabError` where the process fails.
    """
    assert cell.python is not None
    family = primitives.families()[cell.family]
    environment = primitives.environment(cell.family, cell.loop, cell.python)
    service = laboratory.service(cell.service) if cell.service else None
    with (
        watch(laboratory) as watched,
        scripts.launch(
            cell.id,
            {
                "program.py": primitives.FOLDER / "program.py",
                "peer.py": primitives.FOLDER / "peer.py",
                "primitives.py": family.path,
            },
            environment,
            {
                "primitives": cell.primitives,
                "loop": cell.loop,
                "target_s": cell.target_s,
                "values": cell.values,
                "seed": f"{turn.seed}/{turn.launch}",
            },
            cpus=laboratory.placement.target,
            settings={"DATABASE_URL": service.dataset(1)} if service else {},
        ) as script,
    ):
        first, *lines = script.lines(TIMEOUT_S)
    if "unavailable" in first:
        raise Unavailable(f"{family.description.title}: not to be had on Python {cell.python} ({first['unavailable']})")
    return CallSample(
        cell=cell.id,
        launch=turn.launch,
        control=turn.control,
        started=watched.started,
        noise=watched.noise,
        ran=first["ran"],
        timings={line["primitive"]: _timing(cell, line) for line in lines if "ns" in line},
        errors={line["primitive"]: line["error"] for line in lines if "error" in line},
    )


def _timing(cell: CallCell, line: Line) -> Timing:
    try:
        return msgspec.convert(line, Timing)
    except msgspec.ValidationError as error:
        raise LabError(f"{cell.id} printed {line!r}: {error}") from error
