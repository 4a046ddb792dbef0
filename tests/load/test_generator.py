"""Both loops against a scripted clock and network: whatever they record can be computed beforehand."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from scripted import ANSWER, MS, S, ScriptedLink, ScriptedNetwork

from iobound.load.generator import Generator
from iobound.load.histogram import Histogram
from iobound.load.loops import ClosedLoop, OpenLoop
from iobound.load.schedule import due_times
from iobound.load.spec import Exchange, LoadSpec

EXCHANGE = Exchange(answer=b"ok")


def spec(**changes: object) -> LoadSpec:
    return LoadSpec(**{"url": "http://test", "exchanges": [EXCHANGE], "connections": 1, "duration_s": 1.0} | changes)  # type: ignore[arg-type]


def offer(loop: type[Generator], asked: LoadSpec, network: ScriptedNetwork) -> Generator:
    generator = loop(asked, network)
    generator.open()
    generator.run(network.now)
    return generator


def bins(latencies: list[int]) -> list[int]:
    histogram = Histogram()
    histogram.add(np.array(latencies, dtype=np.int64))
    return histogram.counts.tolist()


def after(delays: list[int]) -> Callable[[ScriptedNetwork, ScriptedLink, int], None]:
    """Answer request number n after `delays[n]`, over and over."""

    def serve(network: ScriptedNetwork, link: ScriptedLink, number: int) -> None:
        network.answer(link, network.now + delays[number % len(delays)])

    return serve


def stalling(service: int, begin: int, end: int) -> Callable[[ScriptedNetwork, ScriptedLink, int], None]:
    """Answer after `service`, but answer nothing from `begin` to `end`, counted from the start."""

    def serve(network: ScriptedNetwork, link: ScriptedLink, number: int) -> None:
        done = network.now + service
        start = 1_000 * S
        network.answer(link, start + end + service if start + begin <= done < start + end else done)

    return serve


def test_closed_loop_records_each_latency_exactly() -> None:
    draw = random.Random(1)
    delays = [round(draw.lognormvariate(14, 1.5)) for _ in range(997)]
    network = ScriptedNetwork(after(delays))
    result = offer(ClosedLoop, spec(duration_s=20.0), network)
    finished, passed = 0, 0
    while passed + delays[finished % 997] < 20 * S:
        passed += delays[finished % 997]
        finished += 1
    assert result.record.latency.counts.tolist() == bins([delays[n % 997] for n in range(finished)])
    assert (result.record.responses, result.unanswered, result.requests) == (finished, 1, finished + 1)
    assert result.requests == len(network.sent_at)
    assert result.in_flight_ns == 20 * S
    assert result.record.connects == 1


def test_closed_loop_of_many_connections_counts_every_request_once() -> None:
    network = ScriptedNetwork(after([3 * MS, 5 * MS, 7 * MS]))
    result = offer(ClosedLoop, spec(connections=7), network)
    assert result.requests == len(network.sent_at)
    assert result.unanswered == 7
    assert result.in_flight_ns == 7 * S
    assert sum(result.record.series().responses) == result.record.responses == sum(result.record.status.values())


def test_closed_loop_thinks_after_each_answer() -> None:
    network = ScriptedNetwork(after([2 * MS]))
    result = offer(ClosedLoop, spec(think_s=0.008), network)
    assert result.record.responses == 100
    assert [b - a for a, b in pairwise(network.sent_at)] == [10 * MS] * 99
    assert result.in_flight_ns == 200 * MS


@pytest.mark.parametrize("arrivals", ["constant", "poisson"])
@pytest.mark.parametrize("connections", [1, 3])
def test_open_loop_counts_latency_from_the_due_time(arrivals: str, connections: int) -> None:
    """Against an independent simulation of a queue with `connections` servers."""
    draw = random.Random(2)
    delays = [round(draw.expovariate(1 / (connections * 0.9 * MS))) for _ in range(5_000)]
    network = ScriptedNetwork(after(delays))
    start = network.now
    result = offer(OpenLoop, spec(rate=1_000.0, arrivals=arrivals, connections=connections, duration_s=4.0), network)

    dues = due_times(1_000.0, arrivals, start)  # type: ignore[arg-type]
    free = [start] * connections
    latencies, waits, sent = [], [], 0
    in_flight = 0
    for due, delay in zip(dues, delays, strict=False):
        begun = max(due, heapq.heappop(free))
        heapq.heappush(free, begun + delay)
        if due < start + 4 * S <= begun:
            assert result.overdue > 0
        if begun >= start + 4 * S:
            break
        sent += 1
        waits.append(begun - due)
        in_flight += min(begun + delay, start + 4 * S) - begun
        if begun + delay < start + 4 * S:
            latencies.append(begun + delay - due)
    assert result.record.latency.counts.tolist() == bins(latencies)
    assert result.record.late.counts.tolist() == bins(waits)
    assert (result.requests, result.unanswered) == (sent, sent - len(latencies))
    assert result.in_flight_ns == in_flight


def test_nothing_is_sent_before_it_is_due() -> None:
    network = ScriptedNetwork(after([MS]))
    start = network.now
    offer(OpenLoop, spec(rate=700.0, arrivals="poisson", connections=4), network)
    dues = due_times(700.0, "poisson", start)
    assert all(sent >= due for sent, due in zip(network.sent_at, dues, strict=False))


def test_a_stall_shows_in_the_open_loop_and_not_in_the_closed_one() -> None:
    """500/s over 10 s, 1 s of it stalled: a tenth waits 0 to 1 s, so one in a hundred waits more than 900 ms."""
    serve = stalling(MS, 4 * S, 5 * S)
    opened = offer(OpenLoop, spec(rate=500.0, connections=1_000, duration_s=10.0), ScriptedNetwork(serve))
    closed = offer(ClosedLoop, spec(connections=10, duration_s=10.0), ScriptedNetwork(serve))
    percentile = opened.record.latency.percentile
    assert percentile(99) == pytest.approx(900 * MS, rel=0.005)
    assert percentile(95) == pytest.approx(500 * MS, rel=0.005)
    assert percentile(50) == pytest.approx(MS, rel=0.005)
    assert closed.record.latency.percentile(99) == pytest.approx(MS, rel=0.005)
    assert closed.record.latency.percentile(100) == pytest.approx(S, rel=0.005)


def test_a_stall_shows_with_few_connections_too() -> None:
    """The requests that wait for a connection count from their due times, and catching up takes no time here."""
    serve = stalling(0, 4 * S, 5 * S)
    result = offer(OpenLoop, spec(rate=500.0, connections=2, duration_s=10.0), ScriptedNetwork(serve))
    assert result.record.latency.percentile(99) == pytest.approx(900 * MS, rel=0.005)
    assert result.record.late.percentile(99) == pytest.approx(900 * MS, rel=0.005)


def test_requests_that_no_connection_was_free_for_are_overdue() -> None:
    network = ScriptedNetwork(after([10 * S]))
    result = offer(OpenLoop, spec(rate=100.0, connections=5, timeout_s=60.0), network)
    assert (result.requests, result.unanswered, result.overdue) == (5, 5, 95)
    assert (result.waited.total, result.waited.percentile(100)) == (100, pytest.approx(S, rel=1e-3))


def test_the_warm_up_isnt_recorded() -> None:
    slow_then_fast = [500 * MS, 400 * MS, 200 * MS] + [MS] * 10_000
    network = ScriptedNetwork(after(slow_then_fast))
    result = offer(ClosedLoop, spec(warmup_s=1.0), network)
    assert result.record.responses == 900  # the third began in the warm-up and ended in the block, as did its latency
    assert result.record.latency.percentile(100) == pytest.approx(200 * MS, rel=0.001)
    assert result.in_flight_ns == S
    assert result.ended - result.started == S


def test_time_outs_count_and_the_connection_is_replaced() -> None:
    network = ScriptedNetwork(after([MS, 60 * S]))
    result = offer(ClosedLoop, spec(timeout_s=0.1, duration_s=2.0), network)
    assert set(result.record.errors) == {"timeout"}
    assert result.record.errors["timeout"] == pytest.approx(2.0 / 0.112, abs=2)
    assert result.record.responses == pytest.approx(2.0 / 0.112, abs=2)
    assert network.connects == result.record.connects == result.record.errors["timeout"] + 1
    assert result.in_flight_ns <= 2 * S


def test_an_end_between_requests_is_no_failure_but_costs_a_connect() -> None:
    def serve(network: ScriptedNetwork, link: ScriptedLink, number: int) -> None:
        network.answer(link, network.now + MS)
        if number % 10 == 9:
            network.answer(link, network.now + 2 * MS, b"")

    network = ScriptedNetwork(serve, connect_ns=3 * MS)
    result = offer(OpenLoop, spec(rate=100.0), network)
    assert not result.record.errors
    assert result.record.latency.counts.tolist() == bins([4 * MS if n % 10 == 0 and n else MS for n in range(100)])
    assert result.record.connects == 10


@pytest.mark.parametrize(
    ("parts", "kind"),
    [
        ([b""], "reset"),
        ([ConnectionResetError()], "reset"),
        ([ANSWER[:10], b""], "short-body"),
        ([ANSWER[:-1], b""], "short-body"),
        ([ANSWER[:-1], ConnectionResetError()], "reset"),
        ([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n", b""], "short-body"),
        ([ANSWER.replace(b"200", b"503")], "bad-status"),
        ([ANSWER.replace(b"ok", b"no")], "wrong-body"),
        ([ANSWER.replace(b"2\r\n", b"1\r\n")], "protocol"),
        ([ANSWER + b"more"], "protocol"),
        ([b"SSH-2.0-OpenSSH\r\n"], "protocol"),
        ([b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"], "protocol"),
    ],
)
def test_failures_are_counted_by_kind_and_never_as_success(parts: list[bytes | OSError], kind: str) -> None:
    """Every tenth answer is bad; the others are good, and go on."""

    def serve(network: ScriptedNetwork, link: ScriptedLink, number: int) -> None:
        for part in parts if number % 10 == 5 else [ANSWER]:
            network.answer(link, network.now + MS, part)

    network = ScriptedNetwork(serve)
    result = offer(ClosedLoop, spec(connections=3), network)
    errors, responses = result.record.errors, result.record.responses
    assert set(errors) == {kind}
    assert errors[kind] == pytest.approx(responses / 9, abs=2)
    assert result.record.latency.counts.tolist() == bins([MS] * responses)
    assert result.requests == len(network.sent_at)
    assert sum(result.record.series().failures) == errors.total()


@pytest.mark.parametrize("sizes", [1, 7, 20, 38])
def test_answers_may_come_in_pieces(sizes: int) -> None:
    def serve(network: ScriptedNetwork, link: ScriptedLink, number: int) -> None:
        pieces = [ANSWER[i : i + sizes] for i in range(0, len(ANSWER), sizes)]
        for place, piece in enumerate(pieces, 1):
            network.answer(link, network.now + place * MS // len(pieces), piece)

    result = offer(ClosedLoop, spec(connections=2), ScriptedNetwork(serve))
    assert not result.record.errors
    assert result.record.responses == pytest.approx(2_000, abs=4)
    assert result.record.bytes_received == pytest.approx(result.record.responses * len(ANSWER), abs=2 * len(ANSWER))


def test_a_new_head_each_time_is_read_as_well() -> None:
    def serve(network: ScriptedNetwork, link: ScriptedLink, number: int) -> None:
        network.answer(link, network.now + MS, ANSWER.replace(b"OK\r\n", b"OK\r\nX-Request-Id: %d\r\n" % number))

    result = offer(ClosedLoop, spec(), ScriptedNetwork(serve))
    assert (result.record.responses, result.record.status) == (999, {200: 999})


def test_a_refused_connection_is_tried_again_with_growing_pauses() -> None:
    network = ScriptedNetwork(after([MS]))
    network.refuse = True
    result = offer(ClosedLoop, spec(), network)
    assert set(result.record.errors) == {"refused"}
    # at 0, 1, 3, 7, 15, 31, 63, 127 ms, and from then on each 100 ms
    assert result.record.errors["refused"] == 8 + 8


def test_a_request_that_doesnt_fit_is_sent_in_pieces() -> None:
    body = b"x" * 1_000
    network = ScriptedNetwork(after([MS]))
    network.room = 300
    exchange = Exchange(method="POST", body=body, answer=b"ok")
    result = offer(ClosedLoop, spec(exchanges=[exchange], duration_s=0.1), network)
    first, rest = network.requests[0], b"".join(network.requests)
    assert first.startswith(b"POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 1000\r\n\r\n")
    assert rest.count(body) == result.requests
    assert not result.record.errors


def test_without_keep_alive_each_request_connects_and_its_latency_says_so() -> None:
    closing = ANSWER.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")

    def serve(network: ScriptedNetwork, link: ScriptedLink, number: int) -> None:
        network.answer(link, network.now + MS, closing)

    network = ScriptedNetwork(serve, connect_ns=3 * MS)
    result = offer(ClosedLoop, spec(keep_alive=False), network)
    assert result.record.latency.counts.tolist() == bins([4 * MS] * result.record.responses)
    assert result.record.responses == 249
    assert network.connects == 250
    assert b"Connection: close\r\n" in network.requests[0]


def test_exchanges_are_rotated_through() -> None:
    network = ScriptedNetwork(after([MS]))
    exchanges = [Exchange(path=f"/{name}", answer=b"ok") for name in "abc"]
    result = offer(ClosedLoop, spec(exchanges=exchanges, connections=2), network)
    assert [request.split()[1] for request in network.requests[:6]] == [b"/a", b"/b", b"/c"] * 2
    assert not result.record.errors


def test_told_to_stop_it_keeps_what_was_measured() -> None:
    network = ScriptedNetwork(after([MS]))
    network.at(network.now + S // 2, network.control, 0, None)
    result = offer(ClosedLoop, spec(duration_s=60.0), network)
    assert result.ended - result.started == S // 2
    assert result.record.responses == pytest.approx(500, abs=1)


def test_told_to_stop_before_recording_it_has_nothing() -> None:
    network = ScriptedNetwork(after([MS]))
    network.at(network.now + S // 2, network.control, 0, None)
    assert offer(ClosedLoop, spec(warmup_s=60.0), network).started == 0


def test_open_requests_are_waited_for_shortly_and_never_counted() -> None:
    network = ScriptedNetwork(after([700 * MS]))
    result = offer(ClosedLoop, spec(connections=2), network)
    assert (result.record.responses, result.unanswered, result.abandoned, result.requests) == (2, 2, 0, 4)
    assert network.now == result.ended + 400 * MS

    network = ScriptedNetwork(after([30 * S]))
    result = offer(ClosedLoop, spec(connections=2, timeout_s=60.0), network)
    assert (result.record.responses, result.unanswered, result.abandoned) == (0, 2, 2)
    assert network.now == result.ended + 2 * S


def test_parts_of_a_schedule_are_evenly_spaced_together() -> None:
    parts = [due_times(100.0, "constant", 0, part=part, parts=3) for part in range(3)]
    together = sorted(next(times) for times in parts for _ in range(100))
    assert [b - a for a, b in pairwise(together)] == pytest.approx([S / 300] * 299, abs=1)


def test_poisson_arrivals_repeat_for_a_seed_and_have_exponential_gaps() -> None:
    def gaps(seed: int, part: int = 0) -> list[int]:
        times = due_times(1_000.0, "poisson", 0, seed, part, 2)
        dues = [next(times) for _ in range(20_000)]
        return [b - a for a, b in pairwise(dues)]

    assert gaps(1) == gaps(1)
    assert gaps(1) != gaps(2)
    assert gaps(1) != gaps(1, part=1)
    assert np.mean(gaps(1)) == pytest.approx(MS, rel=0.03)
    assert np.std(gaps(1)) == pytest.approx(MS, rel=0.03)


def test_the_series_doubles_its_step_and_keeps_its_sums() -> None:
    network = ScriptedNetwork(after([40 * MS]))
    result = offer(ClosedLoop, spec(duration_s=700.0), network)
    series = result.record.series()
    assert series.step_ms == 200
    assert len(series.responses) == 3_500
    assert sum(series.responses) == result.record.responses
    assert sum(series.latency_sum_us) == result.record.responses * 40_000
    assert set(series.latency_max_us) == {40_000}
