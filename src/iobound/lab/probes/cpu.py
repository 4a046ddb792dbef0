"""CPU time of process trees: what target and database really used.

The scheduler's clock of a process (nanoseconds) gives the total; `/proc/PID/stat` (10 ms ticks) only how it divides into user
and system. Children that have ended are in their parent's waited-for times, so nothing is lost when workers come and go.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from iobound.lab.processes import tree

TICK_S = 1 / os.sysconf("SC_CLK_TCK")
SCHEDULER_CLOCK = 2  # CPUCLOCK_SCHED of the kernel's dynamic clock ids, see clock_getcpuclockid(3)


@dataclass(frozen=True)
class CpuTimes:
    """CPU seconds of some trees up to now. Subtract two readings of the same roots to get the use between them."""

    total_s: float
    user_ticks: int
    system_ticks: int

    def since(self, before: CpuTimes) -> tuple[float, float]:
        """Return user and system seconds between two readings: the exact total, divided in proportion to the ticks."""
        total = max(0.0, self.total_s - before.total_s)
        user = max(0, self.user_ticks - before.user_ticks)
        system = max(0, self.system_ticks - before.system_ticks)
        share = user / (user + system) if user + system else 1.0
        return total * share, total * (1 - share)


@dataclass(frozen=True)
class Stat:
    """What `/proc/PID/stat` says: user and system ticks of the process, and of children that ended."""

    ticks: tuple[int, int]
    ended_ticks: tuple[int, int]


def stat(pid: int) -> Stat:
    """Read what the kernel says of a process; raises `OSError` where it is gone."""
    # proc(5): fields 14-17 (utime, stime, cutime, cstime); the name in parentheses may hold spaces
    fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    user, system, ended_user, ended_system = map(int, fields[11:15])
    return Stat((user, system), (ended_user, ended_system))


def read(roots: Iterable[int]) -> CpuTimes:
    """Read the CPU times of the trees of `roots`, ended descendants included. Processes that vanish meanwhile count once."""
    total, user, system = 0.0, 0, 0
    for pid in {pid for root in roots for pid in tree(root)}:
        try:
            found = stat(pid)
            total += time.clock_gettime_ns((~pid << 3) | SCHEDULER_CLOCK) / 1e9 + sum(found.ended_ticks) * TICK_S
        except OSError:
            continue
        user += found.ticks[0] + found.ended_ticks[0]
        system += found.ticks[1] + found.ended_ticks[1]
    return CpuTimes(total, user, system)
