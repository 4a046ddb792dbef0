"""Engines and their processes: found, kept, ended; and what they reach against a null server."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from misbehaving import GOOD, Server, answering, read_request

from iobound.errors import UsageError
from iobound.load import calibration, engine, workers
from iobound.load.histogram import Histogram
from iobound.load.spec import Exchange, LoadSpec

needs_wrk = pytest.mark.skipif(not shutil.which("wrk"), reason="wrk isn't installed")

FOREVER = """
from iobound.load import engine
from iobound.load.spec import Exchange, LoadSpec
import sys
print("begin", flush=True)
engine.find("iobound").run(LoadSpec(url=sys.argv[1], exchanges=[Exchange()], duration_s=60.0, processes=2))
"""


def test_engines_are_found_by_their_files() -> None:
    assert engine.known()[0] == engine.DEFAULT
    assert {"wrk", "locust:HttpUser", "locust:FastHttpUser"} < set(engine.known())
    assert all(name == engine.find(name).NAME for name in engine.known())
    assert engine.available(engine.DEFAULT) is None
    with pytest.raises(UsageError, match="wrk"):
        engine.find("wkr")


def descendants() -> set[int]:
    return {child.pid for child in psutil.Process().children(recursive=True)}


def test_a_worker_is_kept_for_the_next_block_and_can_be_ended() -> None:
    workers.end_idle()
    before = descendants()
    with calibration.null_server() as url:
        spec = LoadSpec(url=url, exchanges=[Exchange()], duration_s=0.1)
        engine.find("iobound").run(spec)
        first = descendants() - before
        engine.find("iobound").run(spec)
        assert descendants() - before == first
    workers.end_idle()
    assert not descendants() - before


def test_a_worker_uses_the_cores_it_is_given_and_no_others_afterwards() -> None:
    cores = sorted(os.sched_getaffinity(0))
    workers.end_idle()
    before = descendants()
    with Server(answering(GOOD)) as server:
        spec = LoadSpec(url=server.url, exchanges=[Exchange()], duration_s=0.1, cpus=[cores[-1]])
        engine.find("iobound").run(spec)
        (worker,) = descendants() - before
        assert os.sched_getaffinity(worker) == {cores[-1]}
        engine.find("iobound").run(LoadSpec(url=server.url, exchanges=[Exchange()], duration_s=0.1))
        assert sorted(os.sched_getaffinity(worker)) == cores


def test_workers_end_with_who_started_them_even_by_sigkill() -> None:
    with (
        calibration.null_server() as url,
        subprocess.Popen([sys.executable, "-c", FOREVER, url], stdout=subprocess.PIPE) as parent,
    ):
        assert parent.stdout
        parent.stdout.readline()
        deadline = time.monotonic() + 10
        while len(started := psutil.Process(parent.pid).children()) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.5)
        assert len(started) == 2
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        gone, alive = psutil.wait_procs(started, timeout=5)
    assert (len(gone), alive) == (2, [])


def test_memory_doesnt_grow_with_the_number_of_requests_and_connections_made() -> None:
    workers.end_idle()
    before = descendants()
    closing = GOOD.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    with Server(answering(closing, close=True)) as server:
        spec = LoadSpec(url=server.url, exchanges=[Exchange()], duration_s=0.5, connections=4)
        engine.find("iobound").run(spec)
        (worker,) = descendants() - before
        after_first = psutil.Process(worker).memory_info().rss
        result = engine.find("iobound").run(spec)
        grown = psutil.Process(worker).memory_info().rss - after_first
    assert result.connects > 100
    assert grown < 500 * result.connects + 500_000


def test_the_ceiling_is_measured_once_for_the_same_cores() -> None:
    found = calibration.ceiling("iobound", 5)
    assert found.engine == "iobound"
    assert found.concurrency == 5
    assert found.requests_per_second == pytest.approx(1e6 / found.cpu_us_per_request, rel=0.01)
    assert calibration.ceiling("iobound", 5) is found


@needs_wrk
def test_wrk_offers_the_same_requests_and_its_latencies_are_as_measured() -> None:
    received: list[bytes] = []

    def serve(connection: object) -> None:
        while request := read_request(connection):  # type: ignore[arg-type]
            received.append(request)
            time.sleep(0.3 if len(received) == 50 else 0.002)
            connection.sendall(GOOD)  # type: ignore[attr-defined]

    exchanges = [
        Exchange(path="/a?b=c", headers={"X-Quoted": '"\\]]'}),
        Exchange(method="POST", path="/d", body=b"\0\n\xff"),
    ]
    with Server(serve) as server:
        result = engine.find("wrk").run(LoadSpec(url=server.url, exchanges=exchanges, connections=3, duration_s=0.5))
    latency = Histogram.decode(result.latency)
    assert latency.total == result.responses  # none made up to "correct" for the long one
    assert (latency.percentile(100) or 0) / 1e6 == pytest.approx(300, rel=0.1)
    assert result.status == {"2xx-3xx": result.responses}
    assert result.generator.cpu_user_s + result.generator.cpu_system_s > 0
    first, second = sorted(set(received))
    assert first.startswith(b"GET /a?b=c HTTP/1.1\r\n")
    assert b'\r\nX-Quoted: "\\]]\r\n' in first
    assert second.startswith(b"POST /d HTTP/1.1\r\n")
    assert second.endswith(b"\r\n\r\n\0\n\xff")


@needs_wrk
def test_wrk_counts_bad_statuses_as_failures() -> None:
    with Server(answering(GOOD.replace(b"200", b"500"))) as server:
        result = engine.find("wrk").run(LoadSpec(url=server.url, exchanges=[Exchange()], connections=2, duration_s=1.0))
    assert result.responses == 0
    assert set(result.errors) == {"bad-status"}
    assert Histogram.decode(result.latency).total == 0


@needs_wrk
@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"rate": 5.0}, "open loop"),
        ({"think_s": 1.0}, "think"),
        ({"unix_socket": "/x"}, "Unix socket"),
        ({"processes": 2}, "processes"),
        ({"url": "https://127.0.0.1"}, "certificate"),
        ({"exchanges": [Exchange(status=404)]}, "status"),
    ],
)
def test_wrk_refuses_what_it_cant_do(changes: dict[str, object], word: str) -> None:
    given = {"url": "http://127.0.0.1:1", "exchanges": [Exchange()]} | changes
    with pytest.raises(UsageError, match=word):
        engine.find("wrk").run(LoadSpec(**given))  # type: ignore[arg-type]


def test_a_missing_wrk_is_named_with_what_installs_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "apt-get install wrk" in (engine.available("wrk") or "")
