"""Pools of known size before a database that sleeps: what a setting is worth is known before it is measured."""

from __future__ import annotations

from collections.abc import Callable

from iobound.lab import catalogue
from iobound.planning import at_levels
from iobound.records import Observation, Trial, Workload

SLEEPS = Workload(name="db-wait", wait_ms=20)


def test_throughput_follows_the_pool_while_the_database_sleeps(measure: Callable[..., list[Observation]]):
    target = catalogue.find("starlette/uvicorn-uvloop/asyncpg")
    contenders = [(str(size), target, {"POOL_SIZE": str(size)}) for size in (4, 1, 8)]
    question = at_levels("tune", "pool", "how large a pool?", contenders, SLEEPS, 16)
    seen = measure(question, target, launches=1, block_s=0.6)
    rates = {one.cell: one.load.responses / one.load.seconds for one in seen if isinstance(one, Trial)}
    assert 0.2 < rates["pool/1"] / rates["pool/4"] < 0.3
    assert 1.6 < rates["pool/8"] / rates["pool/4"] < 2.2
