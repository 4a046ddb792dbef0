"""One launch of a driver: a process with one connection that carries out each phase, and some again under profilers."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from contextlib import ExitStack, suppress
from itertools import dropwhile
from typing import TypeVar

import msgspec

from iobound.errors import BadAnswer, LabError, Unavailable
from iobound.lab import catalogue, drivers, interpreters, scripts, things
from iobound.lab import environments as locked
from iobound.lab.laboratory import Laboratory
from iobound.lab.probes import stacks
from iobound.lab.probes.stacks import Stacks
from iobound.lab.scripts import Line, Script
from iobound.measure.rounds import Turn
from iobound.measure.watch import watch
from iobound.records import DriverCell, DriverSample
from iobound.records.drivers import Phase, PhaseUse, ProfiledPhase

PURPOSE = "drivers"  # of the database, which is made anew for each launch
TIMEOUT_S = 300.0
POINTS = 500  # rows to read by their x, again and again
ANSWERS = 5
PROFILED: dict[Phase, int] = {"insert": 60, "select": 4, "point": 60, "wide": 4}
SAMPLED_S = 1.0
SAMPLED_QUICK_S = 0.4
OUTER = {
    *(f"program.py:{function}" for function in ("<module>", "main", "carry_out", "repeat")),
    *(
        f"python/asyncio/base_events.py:{of}{function}"
        for of in ("", "BaseEventLoop.")  # functions tell their class from Python 3.11 on
        for function in ("run_until_complete", "run_forever")
    ),
}  # what all stacks begin with
RARE = 1 / 300  # of the samples; a stack that is rarer counts as its caller

R = TypeVar("R", PhaseUse, ProfiledPhase)


def environments(cell: DriverCell) -> list[tuple[str, str | None]]:
    """Return the locked environment that `cell` needs, where it can be had."""
    with suppress(Unavailable):  # which measuring will tell
        return [(drivers.environment_of(drivers.find(cell.driver), cell.python), cell.python)]
    return []


def measure(cell: DriverCell, turn: Turn, laboratory: Laboratory) -> DriverSample:
    """Measure `cell` in a process of its own, which then repeats statements under cProfile; the first is sampled too.

    Raises `Unavailable` where the driver can't be had on the interpreter, `BadAnswer` where it returns other rows than were
    inserted, `LabError` where the process fails.
    """
    assert cell.service is not None
    driver = drivers.find(cell.driver)
    environment = locked.environment(drivers.environment_of(driver, cell.python), cell.python)
    service = laboratory.service(cell.service)
    rows = things.things(cell.rows)
    first = turn.launch == 0 and not turn.control
    unsampled = _unsampled(cell.python) if first else "stacks are sampled in the first launch"
    job = {
        "url": laboratory.over(things.make(service, PURPOSE, rows[cell.inserts :], rows), cell.rtt_ms),
        "things": rows,
        "inserts": cell.inserts,
        "wides": things.wides(),
        "points": random.Random(f"{turn.seed}/{turn.launch}").choices(range(1, cell.rows + 1), k=POINTS),
        "times": cell.times,
        "answers": ANSWERS,
        "most_s": cell.most_s,
        "services": service.pids(),
        "profiled": None if turn.control else PROFILED,
        "sampled_s": 0.0 if unsampled else SAMPLED_QUICK_S if turn.quick else SAMPLED_S,
    }
    folder = catalogue.FOLDER / "statements"
    files = {
        "program.py": folder / f"{driver.calls}.py",
        "phases.py": folder / "phases.py",
        "cpu_split.py": folder / "cpu_split.py",
        "round_trips.py": catalogue.FOLDER / "round_trips.py",
        "driver.py": driver.path,
    }
    cpus = laboratory.placement.target
    with watch(laboratory) as watched, scripts.launch(cell.id, files, environment, job, cpus=cpus) as script:
        lines, seen = _lines(script, laboratory)
    if bad := [line["bad"] for line in lines if "bad" in line]:
        raise BadAnswer(f"{cell.driver} on {cell.service}: {bad[0]}")
    return DriverSample(
        cell=cell.id,
        launch=turn.launch,
        control=turn.control,
        started=watched.started,
        noise=watched.noise,
        ran=next(line["ran"] for line in lines if "ran" in line),
        phases={line["phase"]: _converted(cell, line, PhaseUse) for line in lines if "phase" in line},
        json_s=next(line["wall_ns"] - line["runqueue_ns"] for line in lines if "answers" in line) / ANSWERS / 1e9,
        profiled={line["profiled"]: _converted(cell, line, ProfiledPhase) for line in lines if "profiled" in line},
        stacks=folded(seen.counts),
        unsampled=unsampled or seen.failed,
    )


def _unsampled(python: str | None) -> str | None:
    found = interpreters.find(python) if python else interpreters.own()
    return stacks.unavailable(found.implementation, found.release)


def _lines(script: Script, laboratory: Laboratory) -> tuple[list[Line], Stacks]:
    """Read what the program prints until it ends, and sample its stacks from where it says so."""
    lines, seen = [], Stacks()
    with ExitStack() as sampling:
        for line in script.lines(TIMEOUT_S):
            lines.append(line)
            if "sampling" in line:
                seen = sampling.enter_context(stacks.sampled(script.pid, laboratory.placement.others))
    return lines, seen


def _converted(cell: DriverCell, line: Line, kind: type[R]) -> R:
    """Return a line as a record: its nanoseconds as seconds."""
    fields = {}
    for name, value in line.items():
        nanoseconds = name.endswith("_ns")
        fields[name.replace("_ns", "_s") if nanoseconds else name] = value / 1e9 if nanoseconds and value is not None else value
    try:
        return msgspec.convert(fields, kind)
    except msgspec.ValidationError as error:
        raise LabError(f"{cell.id} printed {line!r}: {error}") from error


def folded(counts: Counter[tuple[str, ...]]) -> dict[str, int]:
    """Return samples by stack, functions separated by ``;``, without what all begin with; a rare one counts as its caller."""
    least = counts.total() * RARE
    kept: dict[str, int] = {}
    by_length: dict[int, Counter[tuple[str, ...]]] = defaultdict(Counter)
    for stack, count in counts.items():
        inner = tuple(dropwhile(OUTER.__contains__, stack)) or stack[-1:]
        by_length[len(inner)][inner] += count
    for length in range(max(by_length, default=0), 0, -1):
        for stack, count in by_length[length].items():
            if count < least and length > 1:
                by_length[length - 1][stack[:-1]] += count
            else:
                kept[";".join(stack)] = count
    return kept
