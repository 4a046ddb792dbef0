"""The truth that a relay is held against: a request takes what it takes over a relay without a delay, and the round-trip time.

Requests are so far apart that none waits for another; what a service does with many at a time isn't the network's.
"""

from __future__ import annotations

import os
import socket
import statistics
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import psycopg
import pytest

from iobound.lab import placement
from iobound.lab.laboratory import Laboratory
from iobound.lab.network.pings import response_us
from iobound.lab.network.price import echoing, price
from iobound.lab.network.relay import Relay

pytestmark = pytest.mark.flaky(reruns=2)

SELECT_1 = b"Q\0\0\0\x0dSELECT 1\0"
READY = b"Z\0\0\0\x05I"
WITHIN_MS, WITHIN_SHARE = 0.2, 0.03
EVERY_S = 0.0015


@pytest.fixture(scope="module")
def laboratory() -> Iterator[Laboratory]:
    with Laboratory() as running:
        yield running


def plain(port: int, exits: ExitStack) -> socket.socket:
    connection = exits.enter_context(closing(socket.create_connection(("127.0.0.1", port), timeout=10)))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def logged_in(url: str, exits: ExitStack) -> socket.socket:
    """Return the socket of a session of PostgreSQL, to speak its protocol over."""
    session = exits.enter_context(psycopg.connect(url, autocommit=True))
    return exits.enter_context(closing(socket.socket(fileno=os.dup(session.fileno()))))


def median_ms(
    opened: Callable[[ExitStack], socket.socket],
    connections: int,
    rtt_ms: float,
    request: bytes,
    complete: Callable[[bytes], bool],
) -> float:
    with ExitStack() as exits:
        with ThreadPoolExecutor(50) as opening:
            sockets = list(opening.map(lambda _: opened(exits), range(connections)))
        response_us(sockets, request, complete, connections)  # what is first on a connection waits for the handshake
        every_s = max(EVERY_S, 1.5 * rtt_ms / 1e3 / connections)
        count = max(20, min(200, round(1.5 / every_s)))
        return statistics.median(response_us(sockets, request, complete, count, every_s)) / 1e3


def held_to(base_ms: float, took_ms: float, rtt_ms: float) -> None:
    assert rtt_ms <= took_ms  # nothing is early
    assert abs(took_ms - base_ms - rtt_ms) <= max(WITHIN_MS, WITHIN_SHARE * (base_ms + rtt_ms))


@pytest.mark.parametrize(("rtt_ms", "connections"), [(0.3, 1), (0.3, 200), (1, 10), (5, 50), (20, 10), (50, 200)])
def test_select_1_takes_the_base_and_the_round_trip_time(laboratory: Laboratory, rtt_ms: float, connections: int):
    url = laboratory.service("postgresql").dataset(0)

    def measured(relay: Relay) -> float:
        def opened(exits: ExitStack) -> socket.socket:
            return logged_in(relay.url(url), exits)

        return median_ms(opened, connections, rtt_ms, SELECT_1, lambda answer: answer.endswith(READY))

    held_to(measured(laboratory.relay(url, 0.0)), measured(laboratory.relay(url, rtt_ms)), rtt_ms)


@pytest.mark.parametrize(("rtt_ms", "connections"), [(0.3, 10), (5, 1), (20, 200), (50, 1)])
def test_an_echo_takes_the_base_and_the_round_trip_time(rtt_ms: float, connections: int):
    def measured(relay: Relay) -> float:
        return median_ms(lambda exits: plain(relay.port, exits), connections, rtt_ms, b"x", bool)

    others = placement.place().others
    with (
        echoing(others) as server,
        Relay.start(server, 0.0, cpus=others) as base,
        Relay.start(server, rtt_ms, cpus=others) as over,
    ):
        held_to(measured(base), measured(over), rtt_ms)


def test_the_price_is_small_beside_the_smallest_round_trip_time():
    found = price(placement.place())
    assert 0 < found.added_us < 300
    assert 0 < found.cpu_us_per_turn < 600


def test_one_relay_for_all_that_ask_on_the_cores_of_others(laboratory: Laboratory):
    url = laboratory.service("postgresql").dataset(0)
    relay = laboratory.relay(url, 1.0)
    assert laboratory.relay(laboratory.service("postgresql").dataset(1), 1.0) is relay
    assert laboratory.relay(url, 2.0) is not relay
    assert os.sched_getaffinity(relay.pid) == set(laboratory.placement.others)
    assert laboratory.over(url, 0.0) == url
    assert laboratory.over(url, 1.0) == relay.url(url)
    assert Path(f"/proc/{relay.pid}").exists()
