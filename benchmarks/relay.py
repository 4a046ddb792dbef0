"""What a round trip over the relay takes beyond the time that it is to take, and what the relay itself costs.

.venv/bin/python benchmarks/relay.py

`SELECT 1` on a private PostgreSQL, one every 1.5 ms so that nothing queues, over 1 to 200 connections and 0.3 to 50 ms; then
the relay's CPU, how many round trips it forwards at most, and bulk data. Exits with 1 where a target is missed.
"""

from __future__ import annotations

import os
import socket
import statistics
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager

import psycopg

from iobound.lab.laboratory import Laboratory
from iobound.lab.network.pings import response_us
from iobound.lab.network.price import echoing, price
from iobound.lab.network.relay import Relay

RTTS_MS = (0.3, 1.0, 5.0, 20.0, 50.0)
CONNECTIONS = (1, 10, 50, 200)
WITHIN_MS, WITHIN_SHARE = 0.2, 0.03
EVERY_S = 0.0015
ANSWERS = 300
SELECT_1 = b"Q\0\0\0\x0dSELECT 1\0"
READY = b"Z\0\0\0\x05I"
BULK_BYTES = 256 << 20


@contextmanager
def sessions(url: str, count: int) -> Iterator[list[socket.socket]]:
    """Log `count` sessions in and yield their sockets, to speak PostgreSQL's protocol over."""
    with ExitStack() as exits, ThreadPoolExecutor(50) as opening:
        opened = list(opening.map(lambda _: psycopg.connect(url, autocommit=True), range(count)))
        for session in opened:
            exits.callback(session.close)
        yield [exits.enter_context(closing(socket.socket(fileno=os.dup(each.fileno())))) for each in opened]


def select_ms(url: str, connections: int, rtt_ms: float) -> float:
    """Return the median time of ``SELECT 1``."""
    every_s = max(EVERY_S, 1.5 * rtt_ms / 1e3 / connections)
    count = max(30, min(ANSWERS, round(3 / every_s)))
    with sessions(url, connections) as sockets:
        took = response_us(sockets, SELECT_1, lambda answer: answer.endswith(READY), count, every_s)
    return statistics.median(took) / 1e3


def truth(laboratory: Laboratory) -> Iterator[bool]:
    """Hold every round-trip time over every number of connections against the base, which is measured beside it."""
    url = laboratory.service("postgresql").dataset(0)
    base = laboratory.relay(url, 0.0)
    print("SELECT 1, median ms: base + round trip = expected; taken (difference)")
    for connections in CONNECTIONS:
        for rtt_ms in RTTS_MS:
            relay = laboratory.relay(url, rtt_ms)
            before = select_ms(base.url(url), connections, rtt_ms)
            took = select_ms(relay.url(url), connections, rtt_ms)
            after = select_ms(base.url(url), connections, rtt_ms)
            expected = (before + after) / 2 + rtt_ms
            limit = max(WITHIN_MS, WITHIN_SHARE * expected)
            reached = took >= rtt_ms and abs(took - expected) <= limit
            print(
                f"{connections:>4} connections  {expected - rtt_ms:.3f} + {rtt_ms:<4g} = {expected:.3f}; {took:.3f} "
                f"({took - expected:+.3f}, within {limit:.2f}: {'reached' if reached else 'MISSED'})"
            )
            yield reached


def most(laboratory: Laboratory) -> None:
    """Print how many round trips a second the relay forwards at most, and its CPU for each."""
    others = laboratory.placement.others
    with echoing(laboratory.placement.target) as server, Relay.start(server, 1.0, cpus=others) as relay, ExitStack() as exits:
        sockets = [
            exits.enter_context(closing(socket.create_connection(("127.0.0.1", relay.port), timeout=10))) for _ in range(100)
        ]
        clock = (~relay.pid << 3) | 2
        began, used_s = time.monotonic(), time.clock_gettime(clock)
        response_us(sockets, b"x", bool, 20_000)
        seconds, used_s = time.monotonic() - began, time.clock_gettime(clock) - used_s
    print(f"100 connections at 1 ms: {20_000 / seconds:,.0f} round trips/s, {used_s / 20_000 * 1e6:.1f} us of CPU each")


def bulk(laboratory: Laboratory) -> bool:
    """Compare how fast an answer of 256 MB comes directly and over 20 ms."""
    url = laboratory.service("postgresql").dataset(0)
    rates = []
    for way in (url, laboratory.over(url, 20.0)) * 2:
        with psycopg.connect(way, autocommit=True) as session:
            began = time.monotonic()
            with session.cursor().copy(
                f"COPY (SELECT repeat('x', 1000000) FROM generate_series(1, {BULK_BYTES // 10**6})) TO STDOUT"
            ) as copy:
                size = sum(map(len, copy))
            rates.append(size / (time.monotonic() - began) / 1e6)
    ratio = max(rates[1::2]) / max(rates[::2])
    print(f"bulk: {max(rates[::2]):,.0f} MB/s directly, {max(rates[1::2]):,.0f} MB/s over 20 ms ({ratio:.2f})")
    return ratio > 0.5


def main() -> int:
    if len(os.sched_getaffinity(0)) < 2:
        print("needs two cores", file=sys.stderr)
        return 2
    with Laboratory() as laboratory:
        cost = price(laboratory.placement)
        print(f"without a delay: {cost.added_us:.0f} us more than directly, {cost.cpu_us_per_turn:.0f} us of CPU a round trip")
        reached = [*truth(laboratory), bulk(laboratory)]
        most(laboratory)
    return 0 if all(reached) else 1


if __name__ == "__main__":
    sys.exit(main())
