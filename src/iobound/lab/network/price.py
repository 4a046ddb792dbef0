"""What a relay costs by itself: the delay that it adds where it is to add none, and its CPU."""

from __future__ import annotations

import os
import socket
import socketserver
import statistics
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager

from iobound.lab.network.messages import Upstream
from iobound.lab.network.pings import response_us
from iobound.lab.network.relay import Relay
from iobound.lab.placement import Placement, away_from
from iobound.lab.probes.cpu import SCHEDULER_CLOCK
from iobound.lab.processes import LOOPBACK
from iobound.records import RelayPrice

BATCHES, TURNS = 5, 100


def price(placement: Placement) -> RelayPrice:
    """Measure round trips to an echoing server over a relay without a delay against direct ones, in turns; takes 0.3 s."""
    with ExitStack() as exits:
        exits.enter_context(away_from(placement.others))
        server = exits.enter_context(echoing(placement.others))
        relay = exits.enter_context(Relay.start(server, 0.0, cpus=placement.others))
        direct, relayed = (exits.enter_context(closing(_connected(port))) for port in (server.port, relay.port))
        clock = (~relay.pid << 3) | SCHEDULER_CLOCK
        direct_us: list[float] = []
        relayed_us: list[float] = []
        used_s = 0.0
        for _ in range(BATCHES):
            direct_us += response_us([direct], b"x", bool, TURNS)
            before_s = time.clock_gettime(clock)
            relayed_us += response_us([relayed], b"x", bool, TURNS)
            used_s += time.clock_gettime(clock) - before_s
        real_time = os.sched_getscheduler(relay.pid) == os.SCHED_RR
    added_us = statistics.median(relayed_us) - statistics.median(direct_us)
    return RelayPrice(added_us=added_us, cpu_us_per_turn=used_s * 1e6 / len(relayed_us), real_time=real_time)


def _connected(port: int) -> socket.socket:
    connection = socket.create_connection((LOOPBACK, port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


class Echo(socketserver.StreamRequestHandler):
    """Sends back what it is sent."""

    disable_nagle_algorithm = True

    def handle(self) -> None:
        """Serve one connection to its end."""
        while data := self.request.recv(1024):
            self.request.sendall(data)


class EchoServer(socketserver.ThreadingTCPServer):
    """Listens for many who come at a time; a connection that is still open doesn't keep it from ending."""

    request_queue_size = 1024
    daemon_threads = True


@contextmanager
def echoing(cpus: Sequence[int]) -> Iterator[Upstream]:
    """Serve echoes in threads on `cpus`."""

    def serve() -> None:
        os.sched_setaffinity(0, cpus)
        server.serve_forever(poll_interval=0.05)

    with EchoServer((LOOPBACK, 0), Echo) as server:
        thread = threading.Thread(target=serve, name="echo")
        thread.start()
        try:
            yield Upstream(LOOPBACK, server.server_address[1])
        finally:
            server.shutdown()
            thread.join()
