"""The command ``iobound load`` as a person or a script uses it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from misbehaving import GOOD, Server, answering, hanging, read_request

from iobound.cli.main import commands
from iobound.errors import UsageError
from iobound.lab.processes import free_port

# The lock of the machine is for measuring, not for these tests: they may run beside a measurement.
COMMAND = """
from iobound.lab.lock import MachineLock
MachineLock.__init__.__defaults__ = ("\\0iobound load, under test",)
from iobound.cli.main import main
main()
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(answering(GOOD)) as server:
        yield server


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, "load", *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def run(*arguments: str) -> tuple[int, str, str]:
    with start(*arguments) as process:
        output, messages = process.communicate()
    return process.returncode, output, messages


def run_json(*arguments: str) -> tuple[int, dict[str, Any]]:
    code, output, messages = run(*arguments, "--json")
    assert output.count("\n") == 1, messages
    return code, json.loads(output)


def test_a_closed_loop_as_json(server: Server) -> None:
    code, got = run_json(server.url, "--connections", "3", "--duration", "500ms", "--expect-body", "Hello")
    assert code == 0
    assert got["requests"] == got["responses"] + got["unanswered"]
    assert got["requests_per_second"] == pytest.approx(got["responses"] / got["seconds"])
    assert list(got["latency_ms"]) == ["p50", "p90", "p99", "p99.9", "max", "mean"]
    assert got["status"] == {"200": got["responses"]}
    assert (got["errors"], got["connects"], got["valid"]) == ({}, 3, True)
    assert got["in_flight_mean"] == pytest.approx(3, rel=0.05)
    assert got["generator"]["cpu_us_per_request"] > 0
    assert 0 < got["generator"]["utilisation"] < 1.1
    assert got["generator"]["ceiling_requests_per_second"] > got["requests_per_second"]
    assert got["generator"]["late_ms_p99"] is None
    # The server runs in this very process, whose CPU is therefore the target's.
    assert got["target"]["cpu_us_per_request"] > 0
    assert got["bound_by"] in {"target-cpu", "unknown", "generator"}


def test_a_rate_makes_it_an_open_loop(server: Server) -> None:
    code, got = run_json(server.url, "-c", "20", "-d", "1s", "-R", "200", "--arrivals", "constant")
    assert (code, got["loop"], got["rate"]) == (0, "open", 200)
    assert got["requests"] + got["overdue"] == 200
    assert got["generator"]["late_ms_p99"] >= 0
    assert got["bound_by"] == "concurrency"


def test_a_rate_that_is_not_answered_is_not_valid() -> None:
    """Two connections to a server that takes 10 ms answer 200 a second at most, not 1,000."""

    def slow(connection: Any) -> None:
        while read_request(connection):
            time.sleep(0.01)
            connection.sendall(GOOD)

    with Server(slow) as server:
        code, got = run_json(server.url, "-c", "2", "-d", "1s", "-R", "1000", "--arrivals", "constant")
    assert (code, got["valid"]) == (4, False)
    assert "of the 1,000/s offered were answered" in got["invalid_because"]
    assert got["overdue"] > 700
    assert got["latency_ms"]["p99"] is None  # four fifths are still to come


def test_the_text_says_rate_latency_errors_and_what_bound_it(server: Server) -> None:
    code, output, messages = run(server.url, "-d", "300ms", "--path", "/a", "--path", "/b?c", "-H", "X-Y: z")
    assert code == 0
    rows = [line.split("  ")[0].strip() for line in output.splitlines()]
    assert rows[1:4] == ["requests/s", "latency ms", "errors"]
    assert {"bound by", "server", "generator"} < set(rows)
    assert "p99.9" in output
    assert "iobound:" in messages


def test_wrong_answers_make_it_exit_with_1(server: Server) -> None:
    code, got = run_json(server.url, "-d", "300ms", "--expect-body", "Good bye")
    assert (code, got["bound_by"], got["valid"], got["latency_ms"]) == (1, "errors", False, None)
    assert set(got["errors"]) == {"wrong-body"}


def test_nothing_answered_makes_it_exit_with_1() -> None:
    code, got = run_json(f"http://127.0.0.1:{free_port()}/", "-d", "300ms")
    assert (code, got["responses"], got["requests_per_second"]) == (1, 0, 0)
    assert set(got["errors"]) == {"refused"}
    with Server(hanging) as server:
        code, got = run_json(server.url, "-d", "300ms")
    assert (code, got["errors"], got["unanswered"]) == (1, {}, 10)


def test_the_body_comes_from_a_file_and_makes_it_a_post(tmp_path: Path) -> None:
    (tmp_path / "body").write_bytes(b"\0binary")
    received = []

    def serve(connection: Any) -> None:
        while request := connection.recv(65536):
            received.append(request)
            connection.sendall(GOOD)

    with Server(serve) as server:
        code, _ = run_json(server.url + "/x", "-d", "200ms", "--body", f"@{tmp_path / 'body'}")
    assert code == 0
    assert received[0].startswith(b"POST /x HTTP/1.1\r\n")
    assert received[0].endswith(b"\r\n\r\n\0binary")


def test_ctrl_c_prints_what_was_measured_and_exits_with_130(server: Server) -> None:
    with start(server.url, "-d", "60s", "--json") as process:
        time.sleep(2.0)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=10)
    got = json.loads(output)
    assert process.returncode == 130
    assert got["interrupted"] is True
    assert got["requests"] > 0
    assert 0.1 < got["seconds"] < 2.5


def test_sigterm_ends_it_and_leaves_no_process(server: Server) -> None:
    import psutil

    with start(server.url, "-d", "60s", "--json") as process:
        time.sleep(1.5)
        started = psutil.Process(process.pid).children(recursive=True)
        process.terminate()
        process.communicate(timeout=10)
    assert process.returncode == 143
    assert psutil.wait_procs(started, timeout=5)[1] == []


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["127.0.0.1:8000"], "http://"),
        (["ftp://127.0.0.1/"], "http://"),
        (["http://"], "host"),
        (["http://127.0.0.1/", "http://127.0.0.2/"], "several servers"),
        (["http://127.0.0.1/", "-c", "0"], "connections"),
        (["http://127.0.0.1/", "-c", "many"], "'many'"),
        (["http://127.0.0.1/", "-d", "-3s"], "duration"),
        (["http://127.0.0.1/", "-d", "0s"], "duration"),
        (["http://127.0.0.1/", "-R", "-1"], "rate"),
        (["http://127.0.0.1/", "-R", "5", "--think", "1s"], "think"),
        (["http://127.0.0.1/", "-H", "no colon"], "colon"),
        (["http://127.0.0.1/", "--body", "@/does/not/exist"], "--body"),
        (["http://127.0.0.1/", "--path", "relative"], "path"),
        (["http://127.0.0.1/", "--engine", "wrik"], "wrk"),
        ([], "urls"),
    ],
)
def test_what_makes_no_sense_is_refused_before_any_load(arguments: list[str], word: str) -> None:
    with pytest.raises((UsageError, click.UsageError), match=word) as caught:
        commands.main(["load", *arguments], standalone_mode=False)
    assert caught.value.exit_code == 2


def test_the_example_in_its_help_is_runnable(server: Server) -> None:
    example = commands.get_command(click.Context(commands), "load").help.rpartition("Example: iobound load ")[2]  # type: ignore[union-attr]
    url, *rest = example.replace("5s", "200ms").split()
    assert url.startswith("http://")
    assert run_json(server.url, *rest)[0] == 0
