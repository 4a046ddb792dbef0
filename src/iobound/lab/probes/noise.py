"""What disturbs a block: time stolen by the hypervisor, CPU of processes that aren't ours, pressure on the CPUs."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from iobound.records import Noise

TICK_S = 1 / os.sysconf("SC_CLK_TCK")
FOREIGN_LIMIT = 0.06
STEAL_LIMIT = 0.05
UNRESOLVED_TICKS = 2  # /proc/stat counts in ticks of a core: a reading before and one after may each be one off
PRESSURE = Path("/proc/pressure/cpu")


@dataclass(frozen=True)
class Cores:
    """A reading of `/proc/stat` over some cores, in seconds: work of processes, of interrupts, and time stolen."""

    at: float
    busy_s: float
    interrupts_s: float
    stolen_s: float
    pressure_s: float | None


def read(cores: Iterable[int]) -> Cores:
    """Read the time that `cores` spent so far."""
    busy = interrupts = stolen = 0
    wanted = {f"cpu{core}" for core in cores}
    for line in Path("/proc/stat").read_text().splitlines():
        name, *fields = line.split()
        if name in wanted:
            # proc(5): user nice system idle iowait irq softirq steal; guest time is in user already
            user, nice, system, _idle, _iowait, irq, softirq, steal = (int(field) for field in fields[:8])
            busy += user + nice + system
            interrupts += irq + softirq
            stolen += steal
    return Cores(time.monotonic(), busy * TICK_S, interrupts * TICK_S, stolen * TICK_S, _pressure())


def _pressure() -> float | None:
    try:
        some = PRESSURE.read_text().split("\n", 1)[0]
    except OSError:
        return None
    return int(some.rpartition("total=")[2]) / 1e6


def judge(before: Cores, after: Cores, ours_s: float, idle_s: float = 0.0) -> Noise:
    """Return what disturbed the time between two readings in which processes of ours used `ours_s` CPU seconds.

    `idle_s` of these were used by targets that had nothing to do. A block is quiet while foreign CPU and theirs each stay
    below `FOREIGN_LIMIT`, and steal below `STEAL_LIMIT` of one core; in a very short one the few ticks that can't be told
    from none are allowed.
    """
    seconds = after.at - before.at
    unresolved = UNRESOLVED_TICKS * TICK_S / seconds
    foreign_limit, steal_limit = max(FOREIGN_LIMIT, unresolved), max(STEAL_LIMIT, unresolved)
    steal = (after.stolen_s - before.stolen_s) / seconds
    foreign = max(0.0, after.busy_s - before.busy_s - ours_s) / seconds
    pressure = None
    if before.pressure_s is not None and after.pressure_s is not None:
        pressure = (after.pressure_s - before.pressure_s) / seconds
    reasons = []
    if foreign > foreign_limit:
        reasons.append(f"other processes used {foreign:.0%} of a core (limit {foreign_limit:.0%})")
    idle = idle_s / seconds
    if idle > foreign_limit:
        reasons.append(f"targets that weren't asked anything used {idle:.0%} of a core (limit {foreign_limit:.0%})")
    if steal > steal_limit:
        reasons.append(f"the hypervisor took {steal:.0%} of a core (limit {steal_limit:.0%})")
    return Noise(steal=steal, foreign=foreign, pressure=pressure, quiet=not reasons, because="; ".join(reasons) or None)
