"""A relay as seen by who starts it: a process that clients connect to instead of a service, and that takes its time."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Literal

import msgspec

from iobound.errors import LabError
from iobound.lab.network import program, upstream
from iobound.lab.network.delay import Link
from iobound.lab.network.messages import PACKET_BYTES, Answer, Ask, Order, Traffic, Upstream
from iobound.lab.processes import Guarded, spawn, wait_until
from iobound.lab.scratch import Scratch

START_S = 20.0
ANSWER_S = 10.0
MS = 1_000_000  # nanoseconds


class Relay:
    """A running relay on `port` of this machine; a context manager. `stop` ends it, as does the end of iobound.

    `pid` is its process, in the tree of `root`.

    Every connection to it becomes one to the service. Bytes arrive half the round-trip time after they were sent, in their
    order, and so does the end of a stream or a reset. What a connection sends before a handshake over such a network would be
    over counts as sent then, so that the first answer takes as long as there, though connecting itself returns at once.
    """

    def __init__(self, process: Guarded, control: socket.socket, exits: ExitStack) -> None:
        self.pid = process.pid
        self.root = process.root
        self._process = process
        self._control = control
        self._exits = exits
        self.port = self._ask("tell").port

    @classmethod
    def start(
        cls,
        to: Upstream,
        rtt_ms: float,
        *,
        jitter_ms: float = 0.0,
        bytes_per_s: float | None = None,
        cpus: Sequence[int] | None = None,
    ) -> Relay:
        """Start a relay to a service, on `cpus`.

        `jitter_ms` is by how much the round-trip time varies, up and down; more than itself it can't. `bytes_per_s` limits each
        way, all connections together. Raises `LabError` where the service accepts no connection, or the relay doesn't come up.
        """
        service = upstream.resolved(to)
        one_way = Link(round(rtt_ms * MS / 2), round(min(jitter_ms, rtt_ms) * MS / 2), bytes_per_s)
        with ExitStack() as exits:
            folder = exits.enter_context(Scratch("relay")).path
            order = Order(service, one_way, str(folder / "control"))
            argv = [sys.executable, "-m", program.__name__, msgspec.json.encode(order).decode()]
            process = exits.enter_context(spawn(argv, env=os.environ, cpus=cpus, remove=[folder]))
            control = exits.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
            control.settimeout(ANSWER_S)
            try:
                wait_until(lambda: control.connect_ex(order.control) == 0, "it answered", process, START_S)
            except LabError as error:
                raise LabError(f"the relay to {to} didn't start: {error}") from error
            return cls(process, control, exits.pop_all())

    def url(self, url: str) -> str:
        """Return the URL of the service as it is reached over the relay."""
        return upstream.through(url, self.port)

    def stall(self) -> None:
        """Let nothing through any more, as a network that hangs: connections stay open, and what is sent waits."""
        self._ask("stall")

    def resume(self) -> None:
        """Let through what has waited, and what comes."""
        self._ask("resume")

    def cut(self, count: int | None = None) -> int:
        """Reset the `count` oldest connections on both sides (``None``: all); return how many there were."""
        return self._ask("cut", count).cut

    def traffic(self) -> Traffic:
        """Return what went over the relay so far."""
        return self._ask("tell").traffic

    def turns(self) -> int:
        """Return how many round trips were made over the relay so far, logging in included."""
        return self.traffic().turns

    def stop(self) -> None:
        """End it, and with it its connections. Safe to call twice."""
        self._exits.close()

    def __enter__(self) -> Relay:
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def _ask(self, what: Literal["tell", "stall", "resume", "cut"], count: int | None = None) -> Answer:
        try:
            self._control.send(msgspec.json.encode(Ask(what, count)))
            packet = self._control.recv(PACKET_BYTES)
        except OSError as error:
            raise LabError(f"the relay doesn't answer: {error}; it printed:\n{self._process.output()}") from error
        if not packet:
            raise LabError(f"the relay ended with {self._process.returncode}; it printed:\n{self._process.output()}")
        return msgspec.json.decode(packet, type=Answer)
