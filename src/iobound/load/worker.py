"""A generator in a process of its own: ``python -m iobound.load.worker``, told over its standard input what to do.

It ends when its standard input does, so it doesn't outlive who started it.
"""

from __future__ import annotations

import gc
import os
import resource
import signal
import sys

import msgspec

from iobound.errors import IoboundError, LabError
from iobound.load.generator import Generator
from iobound.load.loops import ClosedLoop, OpenLoop
from iobound.load.messages import STOP, Go, Order, Part, Ready, Refused, Reply, read, write
from iobound.load.network import Network
from iobound.load.recorder import Recorder
from iobound.records import GeneratorUse, LoadResult

_ORDERS = 0
_REPLIES = 1
_OTHER_FILES = 64


def main() -> None:
    """Carry out orders until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    cores = os.sched_getaffinity(0)
    while (message := read(_ORDERS)) is not None:
        if message == STOP:
            continue  # it came as the last block had just ended
        order = msgspec.json.decode(message, type=Order)
        os.sched_setaffinity(0, order.spec.cpus or cores)
        try:
            _allow_files(order.spec.connections)
            _reply(_carry_out(order))
        except IoboundError as error:
            _reply(Refused(str(error)))


def _carry_out(order: Order) -> Part:
    network = Network(order.spec, _ORDERS)
    loop = ClosedLoop if order.spec.rate is None else OpenLoop
    generator = loop(order.spec, network, part=order.part, parts=order.parts)
    edges: list[resource.struct_rusage] = []
    generator.on_edge = lambda: edges.append(resource.getrusage(resource.RUSAGE_SELF))
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        generator.open()
        _reply(Ready())
        message = read(_ORDERS)
        if message is None or message == STOP:
            return Part(None, None)
        generator.run(msgspec.json.decode(message, type=Go).start_ns)
    finally:
        network.close()
        gc.enable()
        gc.unfreeze()
    if not generator.started:
        return Part(None, None)
    begin, end = edges
    result = _result(generator, end.ru_utime - begin.ru_utime, end.ru_stime - begin.ru_stime)
    return Part(result, None if order.spec.rate is None else generator.record.late.encode())


def _result(generator: Generator, cpu_user_s: float, cpu_system_s: float) -> LoadResult:
    spec, record = generator.spec, generator.record
    lasted_ns = generator.ended - generator.started
    return LoadResult(
        engine="iobound",
        started=generator.started / 1e9,
        seconds=lasted_ns / 1e9,
        connections=spec.connections,
        rate=spec.rate,
        requests=generator.requests,
        responses=record.responses,
        unanswered=generator.unanswered,
        overdue=generator.overdue,
        abandoned=generator.abandoned,
        waited=generator.waited.encode(),
        status={str(code): number for code, number in sorted(record.status.items()) if number},
        errors=dict(record.errors),
        connects=record.connects,
        bytes_received=record.bytes_received,
        in_flight_mean=generator.in_flight_ns / lasted_ns,
        latency=record.latency.encode(),
        series=record.series(),
        generator=GeneratorUse(
            processes=1,
            cpu_user_s=cpu_user_s,
            cpu_system_s=cpu_system_s,
            utilisation=(cpu_user_s + cpu_system_s) / (lasted_ns / 1e9),
            late_ms_p99=_late_ms(record),
            ceiling_requests_per_second=None,
        ),
    )


def _late_ms(record: Recorder) -> float | None:
    late_ns = record.late.percentile(99)
    return None if late_ns is None else late_ns / 1e6


def _allow_files(connections: int) -> None:
    needed = connections + _OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < needed:
        if hard < needed:
            raise LabError(
                f"{connections} connections need {needed} open files, the limit is {hard}; raise it: ulimit -n {needed}"
            )
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def _reply(reply: Reply) -> None:
    write(_REPLIES, msgspec.json.encode(reply))


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:
        sys.exit(1)  # nobody is left to tell
