"""Worker processes as seen by who starts them. They are kept between blocks: starting one takes longer than connecting."""

from __future__ import annotations

import atexit
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from iobound.errors import LabError
from iobound.load.messages import STOP, Go, Order, Part, Refused, Reply, read, write
from iobound.load.spec import LoadSpec

_HEADWAY_NS = 5_000_000  # from "go" to the common start: time for every worker to hear it
_PATIENCE_S = 60.0  # beyond what opening, warm-up and block may take: resolving a name can be slow
_STOP_S = 5.0

_idle: list[_Worker] = []


class Stopped(Exception):
    """Ctrl-C came; `parts` are the results until then."""

    def __init__(self, parts: list[Part]) -> None:
        super().__init__()
        self.parts = parts


class _Worker:
    def __init__(self) -> None:
        self.part: Part | None = None
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `end`)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "iobound.load.worker"],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            process_group=0,  # Ctrl-C is told to it, so that it answers with what it has measured
        )
        assert self._process.stdin
        assert self._process.stdout
        self._orders = self._process.stdin.fileno()
        self._replies = self._process.stdout.fileno()

    def tell(self, message: bytes) -> None:
        with suppress(BrokenPipeError):  # `hear` will find out why
            write(self._orders, message)

    def hear(self, timeout_s: float) -> None:
        """Wait for its answer and keep it if it is a result; raises `LabError` where it refuses, dies or stays silent."""
        if not select.select([self._replies], [], [], timeout_s)[0]:
            raise LabError(f"the load generator didn't answer within {timeout_s:.0f} s")
        message = read(self._replies)
        if message is None:
            code = self._process.wait()
            self._complaints.seek(0)
            raise LabError(f"the load generator ended with {code}: {self._complaints.read()[-2000:].decode(errors='replace')}")
        match msgspec.json.decode(message, type=Reply):
            case Refused(why):
                raise LabError(why)
            case Part() as part:
                self.part = part

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()
        self._complaints.close()


def carry_out(specs: Sequence[LoadSpec]) -> list[Part]:
    """Offer several shares of a load at the same time and return their results.

    Raises `Stopped` after Ctrl-C, with what was measured until then, and `LabError` where a worker can't.
    """
    workers = [_idle.pop() if _idle else _Worker() for _ in specs]
    try:
        try:
            _offer(workers, specs)
        except KeyboardInterrupt:
            raise Stopped(_stop(workers)) from None
    except BaseException:
        for worker in workers:
            worker.end()
        raise
    _idle.extend(workers)
    return [worker.part for worker in workers if worker.part]


def _offer(workers: Sequence[_Worker], specs: Sequence[LoadSpec]) -> None:
    for number, (worker, spec) in enumerate(zip(workers, specs, strict=True)):
        worker.part = None
        worker.tell(msgspec.json.encode(Order(spec, number, len(specs))))
    for worker in workers:
        worker.hear(_PATIENCE_S)
    go = msgspec.json.encode(Go(time.monotonic_ns() + _HEADWAY_NS))
    for worker in workers:
        worker.tell(go)
    for worker in workers:
        worker.hear(specs[0].warmup_s + specs[0].duration_s + _PATIENCE_S)


def _stop(workers: Sequence[_Worker]) -> list[Part]:
    """Have workers end their blocks now."""
    for worker in workers:
        worker.tell(STOP)
    for worker in workers:
        while worker.part is None:
            worker.hear(_STOP_S)
    return [worker.part for worker in workers if worker.part]


@atexit.register
def end_idle() -> None:
    """End the worker processes that wait for work."""
    while _idle:
        _idle.pop().end()
