"""Locust as an engine: one process without wait time, as in published measurements, in its own locked environment."""

from __future__ import annotations

import os
import select
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from iobound.errors import LabError, UsageError
from iobound.lab.environments import environment
from iobound.load.checks import check
from iobound.load.histogram import Histogram
from iobound.load.spec import LoadSpec
from iobound.records import GeneratorUse, LoadResult

PROGRAM = Path(__file__).with_name("locust_program.py")
STARTING_S = 60.0  # from the start of the process until all users are up

User = Literal["HttpUser", "FastHttpUser"]


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """What the program in Locust's environment prints."""

    started: float
    seconds: float
    unanswered: int
    latency_us: dict[int, int]
    errors: dict[str, int]
    status: dict[str, int]
    bytes_received: int
    connects: int
    busy_s: float
    cpu_user_s: float
    cpu_system_s: float


def run(user: User, spec: LoadSpec) -> LoadResult:
    """Offer one block of load by as many users of Locust's class `user` as there are connections.

    Latency is what Locust reports of each request (its event ``request``), `bytes_received` what it counts: bodies. Locust is
    ready before the warm-up begins, so that starting it isn't measured. Raises `UsageError` for what Locust can't do,
    `LabError` where it fails.
    """
    check(spec)
    _refuse(user, spec)
    counts = _measure(user, spec)
    latency = Histogram()
    for latency_us, count in counts.latency_us.items():
        latency.add_count(latency_us * 1000, count)
    responses = latency.total
    cpu_s = counts.cpu_user_s + counts.cpu_system_s
    return LoadResult(
        engine=f"locust:{user}",
        started=counts.started,
        seconds=counts.seconds,
        connections=spec.connections,
        rate=None,
        requests=responses + sum(counts.errors.values()) + counts.unanswered,
        responses=responses,
        unanswered=counts.unanswered,
        abandoned=counts.unanswered,
        status=counts.status,
        errors=counts.errors,
        connects=counts.connects,
        bytes_received=counts.bytes_received,
        in_flight_mean=counts.busy_s / counts.seconds,
        latency=latency.encode(),
        series=None,
        generator=GeneratorUse(
            processes=1,
            cpu_user_s=counts.cpu_user_s,
            cpu_system_s=counts.cpu_system_s,
            utilisation=cpu_s / counts.seconds,
            late_ms_p99=None,
            ceiling_requests_per_second=None,
        ),
    )


def _refuse(user: User, spec: LoadSpec) -> None:
    beyond = {
        "an open loop (--rate)": spec.rate is not None,
        "a Unix socket (--unix-socket)": spec.unix_socket is not None,
        "several processes (--processes)": spec.processes > 1,
    }
    for what, asked in beyond.items():
        if asked:
            raise UsageError(f"engine locust:{user} can't offer {what}; leave it out, or use --engine iobound")


def _measure(user: User, spec: LoadSpec) -> Counts:
    order = msgspec.json.encode({"user": user, "spec": spec}) + b"\n"
    patience_s = STARTING_S + spec.warmup_s + spec.duration_s
    # Locust's client would ask a proxy of the environment for pages of this machine.
    surroundings = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    with (
        tempfile.TemporaryFile() as complaints,
        subprocess.Popen(
            [environment("locust").python, "-I", PROGRAM],
            env=surroundings,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            start_new_session=True,  # Ctrl-C is ours to handle
        ) as process,
    ):
        assert process.stdin
        assert process.stdout
        try:
            with suppress(BrokenPipeError):  # it died already: its complaints say why
                process.stdin.write(order)
            printed = process.stdout.read() if select.select([process.stdout], [], [], patience_s)[0] else b""
        finally:
            process.kill()
        if not printed:
            complaints.seek(0)
            said = complaints.read().decode(errors="replace").splitlines()
            raise LabError(
                f"Locust's {user} gave no result within {patience_s:g} s; it last said: {said[-1] if said else 'nothing'}"
            )
    return msgspec.json.decode(printed, type=Counts)
