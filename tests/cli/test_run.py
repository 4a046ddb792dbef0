"""`iobound run`, as it is typed: the plan, a real run, and every way of ending one early."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

COMMAND = [sys.executable, "-m", "iobound"]
TINY = ["run", "--quick", "--budget", "1s", "--targets", "bare-asgi/uvicorn-uvloop,bare-wsgi/gunicorn-gthread"]
LONG = ["run", "--targets", "starlette/uvicorn-uvloop/psycopg-async,flask/gunicorn-gthread/psycopg", "--workloads", "sql-list"]


@pytest.fixture
def scratch() -> Iterator[dict[str, str]]:
    """Yield an environment with a TMPDIR of its own, and check that nothing stays in it or runs with it."""
    tmp = Path(tempfile.mkdtemp(prefix="left-by-iobound-"))  # not tmp_path: the unprivileged database must be able to enter it
    tmp.chmod(0o1777)
    yield {**os.environ, "TMPDIR": str(tmp)}
    deadline = time.monotonic() + 10
    while (left := [*tmp.iterdir(), *running_in(tmp)]) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left == []
    tmp.rmdir()


def running_in(tmp: Path) -> list[str]:
    """Return the command lines of the processes that mention `tmp`."""
    lines = [" ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])]
    return [line for line in lines if str(tmp) in line]


def iobound(arguments: list[str], cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], cwd=cwd, env=env, capture_output=True, text=True, timeout=120)


def test_a_run_prints_one_json_object(tmp_path: Path, scratch: dict[str, str]):
    ended = iobound([*TINY, "--workloads", "plain", "--json"], tmp_path, scratch)
    assert ended.returncode in {0, 4}, ended.stderr  # 4: too noisy for a verdict
    found = json.loads(ended.stdout)
    assert found["verdict"]
    assert (tmp_path / found["run"] / "report.html").stat().st_size < 2_000_000
    assert {cell["target"] for cell in found["cells"]} == {"bare-asgi/uvicorn-uvloop", "bare-wsgi/gunicorn-gthread"}
    assert {cell["view"] for cell in found["cells"]} == {"capacity", "fixed-rate"}
    expected = {
        "target", "workload", "view", "concurrency", "rate", "engine", "valid", "invalid_because", "bound_by",
        "requests_per_second", "latency_ms", "cpu_us_per_request", "statements_per_request", "rows_per_request", "launches",
        "blocks",
    }  # fmt: skip
    for cell in found["cells"]:
        assert expected <= set(cell)
        assert cell["ran"]["python"]
        if cell["valid"] and cell["view"] == "capacity":
            assert cell["requests_per_second"]["estimate"] > 0


def test_a_dry_run_measures_nothing(tmp_path: Path):
    ended = iobound(["run", "web", "--quick", "--workloads", "plain", "--dry-run"], tmp_path)
    assert ended.returncode == 0
    assert "flask-as-published" in ended.stdout
    assert "A against A" in ended.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["wep"], "did you mean web"),
        (["--targets", "flsk/werkzeug"], "flask"),
        (["--targets", "flask/uvicorn-uvloop", "--workloads", "plain"], "wsgi"),
        (["--workloads", "sql-lst"], "did you mean sql-list"),
        (["--workloads", "sql-list:x"], "is no parameter"),
        (["--targets", "flask/werkzeug", "--workloads", "sql-list"], "doesn't serve"),
        (["--concurrency", "0"], "is no number of connections"),
        (["--budget", "soon"], "is no duration"),
        (["--resume", "nowhere"], "does not exist"),
    ],
)
def test_what_is_asked_wrongly_is_named(tmp_path: Path, arguments: list[str], hint: str):
    ended = iobound(["run", "--quick", *arguments], tmp_path)
    assert ended.returncode == 2, ended.stderr
    assert hint in ended.stderr
    assert "Traceback" not in ended.stderr


def test_more_cores_than_there_are(tmp_path: Path):
    ended = iobound([*TINY, "--workloads", "plain", "--target-cores", "4096"], tmp_path)
    assert ended.returncode == 3
    assert "ask for fewer" in ended.stderr


def test_a_database_that_refuses(tmp_path: Path):
    ended = iobound([*LONG, "--postgres", "postgresql://me:secret@127.0.0.1:1/x"], tmp_path)
    assert ended.returncode == 3
    assert "127.0.0.1:1" in ended.stderr
    assert "secret" not in ended.stderr


def test_one_core_is_enough_and_is_said(tmp_path: Path):
    core = str(min(os.sched_getaffinity(0)))
    command = ["taskset", "-c", core, *COMMAND, *TINY, "--workloads", "plain", "--json"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert ended.returncode in {0, 4}, ended.stderr
    environment = json.loads((tmp_path / json.loads(ended.stdout)["run"] / "run.json").read_text())["environment"]
    assert environment["cores"] == environment["target_cores"] == [int(core)]
    assert f"share core {core}" in environment["shared_cores"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small file system")
def test_a_full_disk_is_named(tmp_path: Path):
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40k", "tmpfs", small], check=True)
    try:
        ended = iobound([*TINY, "--workloads", "plain", "--out", str(small / "run")], tmp_path)
        assert ended.returncode == 3
        assert "No space left" in ended.stderr
        assert "Traceback" not in ended.stderr
    finally:
        subprocess.run(["umount", small], check=True)


@pytest.mark.parametrize("seconds", [0.3, 1.5, 3.0, 6.0])
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_nothing_stays_whenever_it_is_ended(
    tmp_path: Path, scratch: dict[str, str], seconds: float, sent: signal.Signals, code: int
):
    with subprocess.Popen([*COMMAND, *LONG], cwd=tmp_path, env=scratch, stderr=subprocess.PIPE, text=True) as process:
        time.sleep(seconds)
        process.send_signal(sent)
        _, said = process.communicate(timeout=30)
    assert process.returncode == code, said
    assert "Traceback" not in said


def test_an_interrupted_run_is_kept_and_continued(tmp_path: Path):
    folder = tmp_path / "run"
    command = [*COMMAND, *TINY, "--workloads", "plain", "--out", str(folder)]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        trials = folder / "trials.jsonl"
        while not (trials.exists() and trials.stat().st_size):
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert f"--resume {folder}" in said
    kept = trials.read_bytes()
    assert b'"why":"interrupted"' in kept
    ended = iobound(["run", "--resume", str(folder), "--json"], tmp_path)
    assert ended.returncode in {0, 4}, ended.stderr
    assert trials.read_bytes().startswith(kept)
    assert len(trials.read_bytes()) > len(kept)


def test_a_second_one_is_told_who_measures(tmp_path: Path):
    with subprocess.Popen([*COMMAND, *LONG], cwd=tmp_path, stderr=subprocess.DEVNULL) as first:
        time.sleep(1.5)
        second = iobound([*TINY, "--workloads", "plain"], tmp_path)
        first.send_signal(signal.SIGINT)
        first.wait(timeout=30)
    assert second.returncode == 3
    assert f"process {first.pid}" in second.stderr
