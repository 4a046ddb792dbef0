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


def read(roots: Iterable[int]) -> CpuTimes:
    """Read the CPU times of the trees of `roots`, ended descendants included. Processes that vanish meanwhile count once."""
    total, user, system = 0.0, 0, 0
    for pid in {pid for root in roots for pid in tree(root)}:
        try:
            # fields 14-17 of proc(5): utime, stime, cutime, cstime; the name in parentheses may hold spaces
            stat = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
            ticks = [int(field) for field in stat[11:15]]
            total += time.clock_gettime_ns((~pid << 3) | SCHEDULER_CLOCK) / 1e9 + (ticks[2] + ticks[3]) * TICK_S
        except (OSError, IndexError):
            continue
        user += ticks[0] + ticks[2]
        system += ticks[1] + ticks[3]
    return CpuTimes(total, user, system)
