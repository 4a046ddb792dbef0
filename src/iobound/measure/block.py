"""One block: offer load to a running target for a moment and read everything that spends time meanwhile."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from msgspec import structs

from iobound.lab.laboratory import Laboratory
from iobound.lab.probes import cpu, noise
from iobound.lab.probes.activity import ActivityProbe, Sampled
from iobound.lab.probes.peers import Peers
from iobound.lab.service import Counters, Service
from iobound.lab.targets import RunningTarget
from iobound.load import engine
from iobound.load.local_server import ServerProbe
from iobound.load.spec import Exchange, LoadSpec
from iobound.records import Cell, CpuUse, LoadResult, ServiceUse, Trial
from iobound.workloads import writes

FINISH_S = 10.0  # how long a target gets to be done with abandoned requests: 300 of them at 30 ms each
SETTLE_S = 2.0  # how long these get to finish their writes before rows are counted
GLANCE_S, AT_REST = 0.05, 0.2  # a target is at rest that uses less than this share of a core for this long


@dataclass(frozen=True)
class Position:
    """Where in a run a block stands."""

    comparison: str
    launch: int
    block: int
    control: bool = False
    bare: bool = False


@dataclass(frozen=True)
class Subject:
    """A running target, what it is asked and the service it works on (with the URL of its data).

    `peers` are the processes that aren't ours and that a target without a service of ours is connected to, `others` the
    other targets that run meanwhile, with nothing to do.
    """

    target: RunningTarget
    exchanges: list[Exchange]
    ran: dict[str, str]
    service: Service | None
    data_url: str | None
    peers: Peers = ()
    others: Sequence[int] = ()

    @property
    def database_roots(self) -> Sequence[int] | None:
        """The processes that do the database's part of the work; ``None`` where they aren't ours to see."""
        return self.service.pids() if self.service else self.peers


def load_spec(cell: Cell, subject: Subject, laboratory: Laboratory, rate: float | None, seconds: float) -> LoadSpec:
    """Return what the engine is asked to do for `seconds` of `cell`."""
    return LoadSpec(
        url=subject.target.url,
        exchanges=subject.exchanges,
        connections=cell.concurrency,
        duration_s=seconds,
        rate=rate,
        cpus=laboratory.placement.generator,
    )


def measure_block(
    cell: Cell, position: Position, subject: Subject, laboratory: Laboratory, rate: float | None, seconds: float
) -> Trial:
    """Run one block of `cell` and return what was observed; raises what the engine raises."""
    spec = load_spec(cell, subject, laboratory, rate, seconds)
    service, url = subject.service, subject.data_url
    counting = service is not None and url is not None and writes(cell.workload)
    if service and url and counting:
        service.empty_entries(url)
    watched = service if not position.bare else None
    relay = laboratory.relay(url, cell.rtt_ms) if watched and url and cell.rtt_ms else None
    counted = watched.counters(url) if watched and url else None
    turns = relay.turns() if relay else None
    started = time.time()
    before = _Readings.take(subject, laboratory)
    roots = subject.database_roots
    with (
        service.uncounted() if service and position.bare else nullcontext(),
        ActivityProbe(watched, url) if watched and url else nullcontext() as probe,
        ServerProbe([] if position.bare else [subject.target.root]) as target_clock,
        ServerProbe([] if position.bare else roots or []) as database_clock,
        ServerProbe([relay.root] if relay else []) as relay_clock,
    ):
        result = engine.find(cell.engine).run(spec)
        if result.abandoned:
            _let_finish(subject.target.root)
    after = _Readings.take(subject, laboratory)
    block = result.started, result.started + result.seconds
    use = None
    if watched and url and counted:
        counted_after = watched.counters(url)
        if counted_after:
            sampled = probe.between(*block) if probe else Sampled(None, None, None)
            use = service_use(counted, counted_after, sampled)
    if use and relay and turns is not None:
        use = structs.replace(use, round_trips=relay.turns() - turns)
    target_user, target_system = after.target.since(before.target)
    database = None if roots is None else sum(after.database.since(before.database))
    target_in_block, database_in_block, relay_in_block = (
        clock.between(*block) for clock in (target_clock, database_clock, relay_clock)
    )
    return Trial(
        cell=cell.id,
        comparison=position.comparison,
        launch=position.launch,
        block=position.block,
        control=position.control,
        started=started,
        load=result,
        cpu=CpuUse(
            target_user_s=target_user,
            target_system_s=target_system,
            database_s=database,
            other_s=max(0.0, after.all_s - before.all_s - target_user - target_system - (database or 0) - _generator_s(result)),
            target_block_s=target_in_block.cpu_s if target_in_block else None,
            database_block_s=database_in_block.cpu_s if database_in_block else None,
            relay_block_s=relay_in_block.cpu_s if relay_in_block else None,
        ),
        target_cores=len(laboratory.placement.target),
        service=use,
        noise=noise.judge(
            before.cores,
            after.cores,
            ours_s=sum(after.ours.since(before.ours)),
            idle_s=sum(after.others.since(before.others)),
        ),
        ran=subject.ran,
        rows_written=_settled_rows(service, url) if service and url and counting else None,
        bare=position.bare,
    )


@dataclass(frozen=True)
class _Readings:
    target: cpu.CpuTimes
    database: cpu.CpuTimes
    cores: noise.Cores
    ours: cpu.CpuTimes
    others: cpu.CpuTimes

    @property
    def all_s(self) -> float:
        return self.cores.busy_s + self.cores.interrupts_s

    @classmethod
    def take(cls, subject: Subject, laboratory: Laboratory) -> _Readings:
        return cls(
            target=cpu.read([subject.target.root]),
            database=cpu.read(subject.database_roots or []),
            cores=noise.read(laboratory.placement.cores),
            # iobound, its generator, and every target and service under its guards
            ours=cpu.read([os.getpid(), *(subject.peers or ())]),
            others=cpu.read(subject.others),
        )


def _let_finish(pid: int) -> None:
    """Wait until the processes of `pid` are done with what nobody waits for any more, at most `FINISH_S`."""
    give_up = time.monotonic() + FINISH_S
    used = cpu.read([pid])
    while time.monotonic() < give_up:
        time.sleep(GLANCE_S)
        earlier, used = used, cpu.read([pid])
        if sum(used.since(earlier)) < AT_REST * GLANCE_S:
            break


def _generator_s(result: LoadResult) -> float:
    return result.generator.cpu_user_s + result.generator.cpu_system_s


def service_use(before: Counters, after: Counters, sampled: Sampled) -> ServiceUse:
    """Return what a service counted between two readings, with the sampled activity beside it."""
    busy = after.busy_s - before.busy_s if after.busy_s is not None and before.busy_s is not None else None
    statements = {verb: count - before.statements.get(verb, 0) for verb, count in after.statements.items()}
    return ServiceUse(
        statements={verb: count for verb, count in statements.items() if count},
        transaction_control=after.transaction_control - before.transaction_control,
        rows=after.rows - before.rows,
        busy_s=busy,
        active_mean=sampled.active_mean,
        lock_waits_mean=sampled.lock_waits_mean,
        sessions_max=sampled.sessions_max,
    )


def _settled_rows(service: Service, url: str) -> int:
    """Count the rows written once the count stands still for 0.1 s (at most `SETTLE_S`)."""
    give_up = time.monotonic() + SETTLE_S
    rows = service.count_entries(url)
    while time.monotonic() < give_up:
        time.sleep(0.1)
        earlier, rows = rows, service.count_entries(url)
        if rows == earlier:
            break
    return rows
