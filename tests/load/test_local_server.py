"""The server's own CPU, against one that burns a known time for each request."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from misbehaving import GOOD, Server, answering

from iobound.load import engine
from iobound.load.local_server import ServerProbe, listeners
from iobound.load.spec import Exchange, LoadSpec

BURN_MS = 5

BURNER = f"""
import os, socket, sys, time
listener = socket.create_server(("127.0.0.1", 0))
if os.fork():  # the parent listens too, and does nothing
    print(listener.getsockname()[1], flush=True)
    sys.stdin.read()
    os.kill(0, 9)
while True:
    connection, _ = listener.accept()
    while connection.recv(65536):
        began = time.process_time()
        while time.process_time() - began < {BURN_MS / 1e3}:
            pass
        connection.send({GOOD!r})
"""


@pytest.fixture
def burner() -> Iterator[tuple[int, str]]:
    with subprocess.Popen(
        [sys.executable, "-c", BURNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0
    ) as process:
        assert process.stdin
        assert process.stdout
        yield process.pid, f"http://127.0.0.1:{int(process.stdout.readline())}"
        process.stdin.close()


def test_the_cpu_of_the_server_and_of_its_children_is_seen_and_only_during_the_block(burner: tuple[int, str]) -> None:
    pid, url = burner
    assert len(listeners(url)) == 2
    assert pid in listeners(url)
    with ServerProbe(listeners(url)) as probe:
        spec = LoadSpec(url=url, exchanges=[Exchange()], connections=1, duration_s=1.0, warmup_s=0.5)
        result = engine.find("iobound").run(spec)
    use = probe.between(result.started, result.started + result.seconds)
    assert use
    assert use.cpu_s / result.responses * 1e3 == pytest.approx(BURN_MS, rel=0.1)
    assert use.busy_processes == 1


FORKER = f"""
import os, socket, sys, time
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    connection, _ = listener.accept()
    child = os.fork()
    if child:
        connection.close()
        os.waitpid(child, 0)
        continue
    connection.recv(65536)
    while time.process_time() < {BURN_MS / 1e3}:
        pass
    connection.send({GOOD!r})
    os._exit(0)
"""


def test_a_process_for_each_request_is_seen_though_it_is_gone_before_anyone_looks() -> None:
    with subprocess.Popen([sys.executable, "-S", "-c", FORKER], stdout=subprocess.PIPE) as process:
        assert process.stdout
        url = f"http://127.0.0.1:{int(process.stdout.readline())}"
        with ServerProbe(listeners(url)) as probe:
            spec = LoadSpec(url=url, exchanges=[Exchange()], connections=1, duration_s=1.0, keep_alive=False)
            result = engine.find("iobound").run(spec)
        process.kill()
    use = probe.between(result.started, result.started + result.seconds)
    assert use
    assert use.cpu_s / result.responses * 1e3 > BURN_MS * 0.9


def test_a_server_elsewhere_has_no_process_here() -> None:
    with Server(answering(GOOD)) as server:
        assert listeners(server.url)
        port = server.url.rpartition(":")[2]
        assert listeners(f"http://203.0.113.7:{port}") == []
        assert listeners(f"http://nowhere.invalid:{port}") == []


def test_the_process_behind_a_unix_socket_is_found(tmp_path: Path) -> None:
    with Server(answering(GOOD), path=tmp_path / "socket") as server:
        assert listeners(server.url, str(tmp_path / "socket"))
        assert listeners(server.url, str(tmp_path / "other")) == []


def test_without_processes_there_is_no_use() -> None:
    with ServerProbe([]) as probe:
        pass
    assert probe.between(0.0, 1.0) is None
