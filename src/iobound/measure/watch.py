"""Watches the machine while a script runs: what disturbs it, and what the service's processes use meanwhile."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from iobound.lab.laboratory import Laboratory
from iobound.lab.probes import cpu, noise
from iobound.lab.service import Service
from iobound.records import Noise


class Watched:
    """What was seen of a stretch of time, once it is over: `noise`, and `service_s`, the CPU seconds of the service.

    `service_s` is 0 without a service and ``None`` where its processes aren't ours to see. `started` is in seconds since the
    epoch.
    """

    noise: Noise
    service_s: float | None

    def __init__(self) -> None:
        self.started = time.time()


@contextmanager
def watch(laboratory: Laboratory, service: Service | None = None) -> Iterator[Watched]:
    """Watch what happens within, and `service` with it. Everything that iobound starts counts as its own."""
    roots = service.pids() if service else []
    watched = Watched()
    cores, ours, used = noise.read(laboratory.placement.cores), cpu.read([os.getpid()]), cpu.read(roots or [])
    yield watched
    watched.service_s = None if roots is None else sum(cpu.read(roots).since(used))
    ours_s = sum(cpu.read([os.getpid()]).since(ours))
    watched.noise = noise.judge(cores, noise.read(laboratory.placement.cores), ours_s=ours_s)
