"""Which cores the target, the services and the generator run on, and what has to share one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from iobound.errors import LabError

CGROUP = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Placement:
    """Cores by tenant. `sharing` says in words which tenants share a core, ``None`` where none do.

    `quota` is the CPU quota of our control group in cores, ``None`` where there is none.
    """

    cores: list[int]
    target: list[int]
    services: list[int]
    generator: list[int]
    sharing: str | None
    quota: float | None

    @property
    def target_is_alone(self) -> bool:
        """Whether no other tenant of ours runs on the target's cores."""
        return not set(self.target) & {*self.services, *self.generator}

    @property
    def others(self) -> list[int]:
        """The cores of services and generator."""
        return sorted({*self.services, *self.generator})


def cpu_quota(root: Path = CGROUP, membership: str | None = None) -> float | None:
    """Return the CPU quota in cores that our control group (v2, or v1) sets, the smallest on the way up."""
    own = Path("/proc/self/cgroup").read_text() if membership is None else membership
    quotas: list[float] = []
    for line in own.splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        base = root / controllers if controllers else root
        group = base / path.lstrip("/")
        for folder in (group, *group.parents):
            if folder != base and base not in folder.parents:
                break
            quotas.extend(quota for quota in (_quota_v2(folder), _quota_v1(folder)) if quota is not None)
    return min(quotas, default=None)


def _quota_v2(folder: Path) -> float | None:
    try:
        limit, period = (folder / "cpu.max").read_text().split()
    except (OSError, ValueError):
        return None
    return None if limit == "max" else int(limit) / int(period)


def _quota_v1(folder: Path) -> float | None:
    try:
        limit = int((folder / "cpu.cfs_quota_us").read_text())
        period = int((folder / "cpu.cfs_period_us").read_text())
    except (OSError, ValueError):
        return None
    return None if limit < 0 else limit / period


def place(target_cores: int = 1, cores: list[int] | None = None, quota: float | None = None) -> Placement:
    """Divide the cores that we may use: the target's at the end, the generator's before them, the services on the rest.

    Raises `LabError` where the target asks for more cores than there are.
    """
    mine = sorted(os.sched_getaffinity(0)) if cores is None else sorted(cores)
    if not 1 <= target_cores <= len(mine):
        raise LabError(
            f"the target can't have {target_cores} cores: this process may use {len(mine)} "
            f"({', '.join(map(str, mine))}); ask for fewer, or widen the affinity mask"
        )
    target, rest = mine[len(mine) - target_cores :], mine[: len(mine) - target_cores]
    if not rest:
        sharing = f"target, services and generator share core {mine[0]}" if len(mine) == 1 else "everything shares all cores"
        return Placement(mine, target, mine, mine, sharing, quota)
    if len(rest) == 1:
        return Placement(mine, target, rest, rest, f"services and generator share core {rest[0]}", quota)
    return Placement(mine, target, rest[:-1], rest[-1:], None, quota)


@contextmanager
def away_from(cores: Sequence[int]) -> Iterator[None]:
    """Keep this thread, and what it starts, off `cores` if there are others."""
    mine = os.sched_getaffinity(0)
    os.sched_setaffinity(0, mine - set(cores) or mine)
    try:
        yield
    finally:
        os.sched_setaffinity(0, mine)
