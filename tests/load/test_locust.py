"""Locust as an engine, against a server of our own that counts what it is asked."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator

import psutil
import pytest

from iobound.errors import LabError, UsageError
from iobound.lab.environments import environment
from iobound.lab.processes import free_port
from iobound.load.engines import locust_fast_http_user, locust_http_user
from iobound.load.histogram import Histogram
from iobound.load.spec import Exchange, LoadSpec

ENGINES = [locust_http_user, locust_fast_http_user]
DELAY_S = 0.02


class CountingServer:
    """Answers by path, and counts requests (by method, path and body) and connections."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, str, bytes]] = Counter()
        self.connections = 0
        self._loop = asyncio.new_event_loop()
        self._server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                method, path, _ = head.split(" ", 2)
                length = int(head.partition("content-length: ")[2].partition("\r\n")[0] or 0)
                self.requests[method.upper(), path, await reader.readexactly(length)] += 1
                await self._answer(path, writer)
                if "connection: close" in head:
                    return writer.close()
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            writer.close()

    async def _answer(self, path: str, writer: asyncio.StreamWriter) -> None:
        match path:
            case "/reset":
                writer.transport.abort()
            case "/short":
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ntoo short")
                writer.close()
            case "/hang":
                await asyncio.sleep(60)
            case "/missing":
                writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nnever")
            case _:
                if path == "/slow":
                    await asyncio.sleep(DELAY_S)
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHello")

    def stop(self) -> None:
        for task in asyncio.all_tasks(self._loop):
            self._loop.call_soon_threadsafe(task.cancel)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._server.close()
        self._loop.close()


@pytest.fixture
def server() -> Iterator[CountingServer]:
    running = CountingServer()
    yield running
    running.stop()


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.NAME)
def test_counts_equal_those_of_the_server(engine, server):
    entry = Exchange(method="POST", path="/entries", headers={"Content-Type": "text/plain"}, body=b"four", answer=b"Hello")
    exchanges = [Exchange(path="/", status=200, answer=b"Hello"), entry, Exchange(path="/missing", status=404, answer=b"never")]
    result = engine.run(LoadSpec(url=server.url, exchanges=exchanges, connections=4, duration_s=1.0))
    assert result.engine == engine.NAME
    assert result.errors == {}
    assert result.requests == result.responses + result.unanswered
    assert result.responses <= server.requests.total() <= result.requests
    assert set(server.requests) == {("GET", "/", b""), ("POST", "/entries", b"four"), ("GET", "/missing", b"")}
    assert max(server.requests.values()) - min(server.requests.values()) <= 4  # rotated through
    assert sum(result.status.values()) == result.responses == Histogram.decode(result.latency).total
    assert result.status["200"] > result.status["404"] > 0
    assert result.connects == server.connections == 4
    assert result.bytes_received == 5 * result.responses
    assert 0 < result.generator.utilisation <= 1.1


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.NAME)
def test_latency_is_the_time_spent_in_the_server_and_the_warm_up_is_left_out(engine, server):
    exchanges = [Exchange(path="/slow", answer=b"Hello")]
    result = engine.run(LoadSpec(url=server.url, exchanges=exchanges, connections=3, warmup_s=0.5, duration_s=1.0))
    assert 20e6 <= Histogram.decode(result.latency).percentile(50) < 30e6
    assert result.responses <= 3 * result.seconds / DELAY_S
    assert 2.4 < result.in_flight_mean <= 3
    assert result.connects == 0
    assert result.requests < 0.8 * server.requests.total()
    assert 1.0 <= result.seconds < 1.3
    assert result.started < time.monotonic() - result.seconds


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.NAME)
def test_failures_are_told_apart_and_are_no_responses(engine, server):
    wrong = [Exchange(path="/", answer=b"Goodbye"), Exchange(path="/missing"), Exchange(path="/short")]
    lost = [Exchange(path="/reset"), Exchange(path="/hang")]
    spec = LoadSpec(url=server.url, exchanges=wrong + lost, connections=5, duration_s=1.5, timeout_s=0.3)
    result = engine.run(spec)
    assert set(result.errors) == {"wrong-body", "bad-status", "short-body", "reset", "timeout"}
    assert result.responses == 0
    assert result.status == {"200": result.errors["wrong-body"], "404": result.errors["bad-status"]}
    assert result.requests == sum(result.errors.values()) + result.unanswered


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.NAME)
def test_nobody_there_and_no_tls(engine, server):
    nobody = LoadSpec(url=f"http://127.0.0.1:{free_port()}", exchanges=[Exchange()], connections=1, duration_s=0.2)
    assert set(engine.run(nobody).errors) == {"refused"}
    plain = LoadSpec(url=server.url.replace("http:", "https:"), exchanges=[Exchange()], connections=1, duration_s=0.2)
    assert set(engine.run(plain).errors) <= {"tls", "timeout"}


def test_without_keep_alive_every_request_connects(server):
    spec = LoadSpec(url=server.url, exchanges=[Exchange()], connections=2, duration_s=0.5, keep_alive=False)
    result = locust_http_user.run(spec)
    assert result.responses <= result.connects <= result.requests


@pytest.mark.parametrize(
    ("beyond", "named"),
    [({"rate": 100.0}, "--rate"), ({"unix_socket": "/run/x"}, "--unix-socket"), ({"processes": 2}, "--processes")],
)
def test_what_locust_cannot_offer_is_refused_by_name(beyond, named):
    with pytest.raises(UsageError, match=f"locust:HttpUser.*{named}"):
        locust_http_user.run(LoadSpec(url="http://127.0.0.1:1", exchanges=[Exchange()], **beyond))


def test_a_locust_that_fails_says_why(server):
    with pytest.raises(LabError, match=r"Locust's HttpUser gave no result.*Invalid argument"):
        locust_http_user.run(LoadSpec(url=server.url, exchanges=[Exchange()], duration_s=0.2, cpus=[1000]))


def test_locust_ends_with_a_killed_iobound(server):
    program = (
        "from iobound.load.engines import locust_http_user as engine\n"
        "from iobound.load.spec import Exchange, LoadSpec\n"
        f"engine.run(LoadSpec(url={server.url!r}, exchanges=[Exchange()], duration_s=60))\n"
    )
    environment("locust")
    with subprocess.Popen([sys.executable, "-c", program]) as ours:
        while not server.requests:
            time.sleep(0.05)
        (locust,) = psutil.Process(ours.pid).children()
        os.kill(ours.pid, signal.SIGKILL)
    assert psutil.wait_procs([locust], timeout=5)[1] == []
