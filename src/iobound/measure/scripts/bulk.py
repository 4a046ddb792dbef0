"""One launch of a bulk load: a process connects, loads phase by phase and says what that took; then the rows are added up."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iobound.errors import BadAnswer, LabError, Unavailable
from iobound.lab import drivers, interpreters, loaders, scripts
from iobound.lab import environments as locked
from iobound.lab.census import data
from iobound.lab.census.data import Contents, Load
from iobound.lab.census.tables import Tables
from iobound.lab.laboratory import Laboratory
from iobound.lab.network.relay import Relay
from iobound.lab.probes import cpu
from iobound.lab.probes.cpu import CpuTimes
from iobound.lab.probes.waits import WaitProbe
from iobound.lab.scripts import Line
from iobound.lab.service import Service
from iobound.measure.rounds import Turn
from iobound.measure.watch import watch
from iobound.records import BulkCell, BulkSample
from iobound.records.bulk import BulkPhase

OURS = 3  # connections that iobound has itself
TIMEOUT_S = 60.0
TIMEOUT_A_ROW_S = 0.005  # of one connection, beside the round-trip time
SHOWN_LOST = 3


def environments(cell: BulkCell) -> list[tuple[str, str | None]]:
    """Return the locked environment that `cell` needs, where it can be had."""
    with suppress(Unavailable):  # which measuring will tell
        return [(_environment(cell), cell.python)]
    return []


def _environment(cell: BulkCell) -> str:
    loader, driver = loaders.find(f"{cell.model}/{cell.part}")
    return drivers.environment_of(driver, cell.python, loader.dependencies)


def measure(cell: BulkCell, turn: Turn, laboratory: Laboratory) -> BulkSample:
    """Load what `cell` says into empty tables, and hold what is in them against what was to be loaded.

    Raises `Unavailable` where model or driver can't be had on the interpreter, `BadAnswer` where rows were lost or are there
    twice, `LabError` where the database refuses, or dies.
    """
    assert cell.service is not None
    loader, driver = loaders.find(f"{cell.model}/{cell.part}")
    lock = _environment(cell)
    if not loader.runs_on((interpreters.find(cell.python) if cell.python else interpreters.own()).release):
        raise Unavailable(f"{cell.model} needs Python {loader.requires_python}, not {cell.python}")
    environment = locked.environment(lock, cell.python)
    service = laboratory.service(cell.service)
    _check_room(cell, service)
    load = data.load(_census(cell, turn), cell.lines, report_bad=cell.bad_lines == "report")
    tables = laboratory.once(
        f"bulk on {service.name}", lambda: Tables(service.name, service.scratch("bulk"), load.census.matrices)
    )
    tables.empty()
    relay = laboratory.relay(tables.url, cell.rtt_ms) if cell.rtt_ms else None
    with ExitStack() as running:
        watched = running.enter_context(watch(laboratory))
        waits = running.enter_context(WaitProbe(tables.waits))
        script = running.enter_context(
            scripts.launch(
                cell.id,
                loaders.files(loader, driver),
                environment,
                _job(cell, load, relay.url(tables.url) if relay else tables.url, laboratory.placement.others),
                cpus=laboratory.placement.target,
            )
        )
        timeout_s = TIMEOUT_S + load.expected.rows * (TIMEOUT_A_ROW_S + cell.rtt_ms / 1e3)
        lines = [*_followed(cell, script.lines(timeout_s), service, relay, waits)]
    ran = next(line["ready"] for line in lines if "ready" in line)
    phases = [line["phase"] for line in lines if "phase" in line]
    check(load.expected, tables.contents(), {phase.phase: phase.rows for phase in phases})
    return BulkSample(
        cell=cell.id,
        launch=turn.launch,
        control=turn.control,
        started=watched.started,
        noise=watched.noise,
        ran=ran,
        phases=phases,
        processes=int(ran.get("processes", 1)),
        target_cores=len(laboratory.placement.target),
        feeder_cpu_s=next(line["feeder_cpu_s"] for line in lines if "feeder_cpu_s" in line),
        bad_lines=[*load.bad],
    )


def _census(cell: BulkCell, turn: Turn) -> data.Census:
    return data.read(Path(cell.data)) if cell.data else data.made(turn.seed, cell.lines)


def _check_room(cell: BulkCell, service: Service) -> None:
    """Raise `Unavailable` where the server allows fewer connections than are asked."""
    allowed = int(service.info().settings.get("max_connections", cell.connections + OURS))
    if cell.connections + OURS > allowed:
        raise Unavailable(
            f"{cell.connections} connections, and {OURS} of iobound itself, are more than {service.name} allows: its setting "
            f"max_connections is {allowed}; ask for fewer with --connections, or raise it"
        )


def _job(cell: BulkCell, load: Load, url: str, feeder_cpus: list[int]) -> dict[str, Any]:
    return {
        "url": url,
        "connections": cell.connections,
        "path": str(load.census.path),
        "lines": load.lines,
        "columns": load.columns,
        "skip": load.skip,
        "transaction": cell.transaction,
        "statements": cell.statements,
        "feeder": cell.feeder,
        "feeder_cpus": feeder_cpus,
    }


@dataclass(frozen=True)
class Reading:
    """CPU seconds of the service and of the relay so far, and the round trips that it counted; ``None`` of what isn't there."""

    service: CpuTimes | None
    relay: CpuTimes | None
    round_trips: int | None

    @classmethod
    def now(cls, service: Service, relay: Relay | None) -> Reading:
        """Read."""
        roots = service.pids()
        used = None if roots is None else cpu.read(roots)
        return cls(used, cpu.read([relay.root]), relay.turns()) if relay else cls(used, None, None)


def _followed(cell: BulkCell, lines: Iterator[Line], service: Service, relay: Relay | None, waits: WaitProbe) -> Iterator[Line]:
    """Yield what a program prints, its phases as records: while it pauses between them, counters are read."""
    before = Reading.now(service, relay)
    for line in lines:
        ended, now = time.monotonic(), Reading.now(service, relay)
        if "refused" in line:
            raise LabError(
                f"{service.name} refused {line['refused']}; where it says too many, ask for fewer than {cell.connections} "
                "with --connections, or raise its setting max_connections"
            )
        if "lacks" in line:
            raise Unavailable(f"{cell.driver} has no {line['lacks']}; leave it out of --statements")
        if "phase" in line:
            seen = waits.between(ended - line["wall_s"], ended)
            yield {**line, "phase": _phase(line, before, now, seen)}
        else:
            yield line
        before = now


def _phase(line: Line, before: Reading, now: Reading, waits: dict[str, float] | None) -> BulkPhase:
    """Return a phase; raises `BadAnswer` for lines that aren't loaded, `LabError` where the database is gone."""
    rows = line["rows"]
    if line["gone"]:
        raise LabError(
            f"the database went away in phase {line['phase']}, after {sum(rows):,} rows were committed: {line['gone']}; "
            "nothing of this launch is counted"
        )
    if lost := line["lost"]:
        shown = "; ".join(
            f"line {each['line']}, of which {each['committed']} rows were committed: {each['error']}"
            for each in lost[:SHOWN_LOST]
        )
        raise BadAnswer(
            f"{len(lost)} lines weren't loaded in phase {line['phase']}: {shown}; with --transaction line, a line whose "
            "connection is lost is loaded again"
        )
    return BulkPhase(
        phase=line["phase"],
        rows=sum(rows),
        wall_s=line["wall_s"],
        user_s=line["user_s"],
        system_s=line["system_s"],
        database_s=_used_s(before.service, now.service),
        rows_least=min(rows),
        rows_most=max(rows),
        empty_s=line["empty_s"],
        retried=line["retried"],
        waits=waits,
        window_rows_per_second=line.get("window_rows_per_second"),
        relay_s=_used_s(before.relay, now.relay),
        round_trips=None if now.round_trips is None or before.round_trips is None else now.round_trips - before.round_trips,
    )


def _used_s(before: CpuTimes | None, now: CpuTimes | None) -> float | None:
    return None if before is None or now is None else sum(now.since(before))


def check(expected: Contents, found: Contents, said: dict[str, int]) -> None:
    """Raise `BadAnswer` where the database holds anything else than was to be loaded, or than the program `said` it loaded."""
    for table, phase, rows, digest in (
        ("geo_record", "geo", "geo_rows", "geo_digest"),
        ("data_element", "data", "rows", "digest"),
    ):
        wanted, there = getattr(expected, rows), getattr(found, rows)
        if not wanted == there == said.get(phase):
            raise BadAnswer(
                f"{table} holds {there:,} rows; {wanted:,} were to be loaded, {said.get(phase, 0):,} were said to be committed"
            )
        if getattr(expected, digest) != getattr(found, digest):
            raise BadAnswer(f"{table} holds {there:,} rows as it should, and not the values that were to be loaded")
