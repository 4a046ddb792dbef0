"""What a load engine reaches on this machine when the server is no limit."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache

from iobound.errors import LabError
from iobound.load import engine
from iobound.load.null_server import ANSWER
from iobound.load.spec import Exchange, LoadSpec
from iobound.records import Ceiling

_DURATION_S = 0.5
_WARMUP_S = 0.1


def ceiling(
    engine_name: str, connections: int, cpus: Sequence[int] | None = None, server_cpus: Sequence[int] | None = None
) -> Ceiling:
    """Return what the engine reaches with a core of its own, generator and null server on the given cores.

    The requests a second are those answered, divided by the utilisation of the generator's core: what it would reach if the
    null server, or a core shared with it, weren't in its way. Measured once a process for the same arguments (0.6 s).
    """
    return _ceiling(engine_name, connections, _cores(cpus), _cores(server_cpus))


def _cores(cpus: Sequence[int] | None) -> tuple[int, ...] | None:
    return tuple(sorted(cpus)) if cpus else None


@cache
def _ceiling(engine_name: str, connections: int, cpus: tuple[int, ...] | None, server_cpus: tuple[int, ...] | None) -> Ceiling:
    with null_server(server_cpus) as url:
        result = engine.find(engine_name).run(
            LoadSpec(
                url=url,
                exchanges=[Exchange(answer=ANSWER.partition(b"\r\n\r\n")[2])],
                connections=connections,
                duration_s=_DURATION_S,
                warmup_s=_WARMUP_S,
                cpus=list(cpus) if cpus else None,
            )
        )
    use = result.generator
    if not result.responses or not use.utilisation:
        raise LabError(f"engine {engine_name} got no answer from the null server: {result.errors}")
    return Ceiling(
        engine=engine_name,
        concurrency=connections,
        requests_per_second=result.responses / result.seconds / use.utilisation,
        cpu_us_per_request=(use.cpu_user_s + use.cpu_system_s) / result.responses * 1e6,
    )


@contextmanager
def null_server(cpus: Sequence[int] | None = None) -> Iterator[str]:
    """Run a null server on the given cores; yield its URL."""
    with subprocess.Popen(
        [sys.executable, "-m", "iobound.load.null_server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        process_group=0,
    ) as process:
        assert process.stdin
        assert process.stdout
        try:
            port = process.stdout.readline()
            if not port:
                raise LabError("the null server didn't start")
            if cpus:
                os.sched_setaffinity(process.pid, cpus)
            yield f"http://127.0.0.1:{int(port)}"
        finally:
            process.kill()
