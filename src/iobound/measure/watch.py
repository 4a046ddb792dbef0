"""Watches the machine while a script runs: what disturbs it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from iobound.lab.laboratory import Laboratory
from iobound.lab.probes import cpu, noise
from iobound.records import Noise


class Watched:
    """What was seen of a stretch of time: when it `started`, in seconds since the epoch, and once it is over its `noise`."""

    noise: Noise

    def __init__(self) -> None:
        self.started = time.time()


@contextmanager
def watch(laboratory: Laboratory) -> Iterator[Watched]:
    """Watch what happens within. Everything that iobound starts counts as its own."""
    watched = Watched()
    cores, ours = noise.read(laboratory.placement.cores), cpu.read([os.getpid()])
    yield watched
    ours_s = sum(cpu.read([os.getpid()]).since(ours))
    watched.noise = noise.judge(cores, noise.read(laboratory.placement.cores), ours_s=ours_s)
