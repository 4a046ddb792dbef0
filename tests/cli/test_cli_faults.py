"""What goes wrong end to end: the exit code, a message without a traceback, results kept, and nothing left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from iobound import runs
from iobound.cli import options, stages
from iobound.errors import UsageError
from iobound.lab.service import ServiceOptions, find
from iobound.records import SCHEMA, Environment, Plan, RunHeader

COMMAND = [sys.executable, "-m", "iobound"]
SERVER = """
import os, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
mode, count = sys.argv[1], 0
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        global count
        count += 1
        late = count > 30
        if mode == "dies" and late:
            print("out of cheese", flush=True)
            os._exit(3)
        if mode == "hangs" and late:
            time.sleep(1000)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
    def log_message(self, *arguments):
        pass
if mode == "stays down":
    sys.exit("no cheese")
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
"""
Iobound = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def iobound(tmp_path: Path) -> Iobound:
    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        command, env = [*COMMAND, *arguments], os.environ | environment
        ended = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)
        assert "Traceback" not in ended.stderr
        return ended

    return run


def serving(mode: str) -> list[str]:
    return ["--", sys.executable, "-c", SERVER, mode, "{port}"]


def compared(iobound: Iobound, mode: str, *more: str) -> subprocess.CompletedProcess[str]:
    asked = ["--quick", "--budget", "1s", "--concurrency", "2", "--json", "--out", "run", *more]
    return iobound("compare", *asked, *serving("works"), *serving(mode))


def test_a_command_that_does_not_start_is_told_with_what_it_printed(iobound: Iobound):
    ended = compared(iobound, "stays down")
    assert (ended.returncode, ended.stdout) == (3, "")
    assert "no cheese" in ended.stderr


@pytest.mark.parametrize(
    ("mode", "reason"),
    [("dies", "out of cheese"), ("hangs", "wasn't answered within 10 s")],
)
def test_a_command_that_goes_wrong_midway_is_a_bad_answer(iobound: Iobound, mode: str, reason: str):
    ended = compared(iobound, mode)
    assert ended.returncode == 1, ended.stderr
    cells = json.loads(ended.stdout)["cells"]
    wrong = [cell for cell in cells if cell["target"] == "B"]
    assert not any(cell["valid"] for cell in wrong)
    assert reason in str([cell["invalid_because"] for cell in wrong])
    assert [cell["blocks"] + cell["noisy_blocks"] for cell in cells if cell["target"] == "A"] > [0, 0]


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["run", "--targets", "flask/werkzeug,"], "empty item"),
        (["run", "--targets", "flask/werkzeug,flask/werkzeug"], "has flask/werkzeug twice"),
        (["run", "--concurrency", "10,10"], "has 10 twice"),
        (["run", "--rate", "inf"], "is no rate"),
        (["run", "--rate", "nan"], "is no rate"),
        (["run", "--postgres", "host=127.0.0.1 password=topsecret"], "no URL"),
        (["run", "--mysql", "mysql://me:topsecret[@127.0.0.1/"], "no URL"),
        (["run", "equal", "--workloads", "redis-get"], "nothing to measure"),
        (["run", "--out", "file/run", "--workloads", "plain"], "is a file"),
        (["run", "--targets", "bare-asgi/uvicorn-uvloop/redis-py-async,flask-sql-as-published"], "--workloads"),
        (["compare", "one"], "two run folders"),
        (["compare", "one", "other"], "one holds no run"),
        (["compare", "--", "a", "{port}", "--"], "is empty"),
        (["compare", "--allow-slower", "5", "--", "a", "{port}", "--", "b", "{port}"], "is for two runs"),
        (["report", "nowhere"], "nowhere holds no run"),
        (["report"], "start one with"),
    ],
)
def test_what_is_asked_wrongly_starts_nothing(iobound: Iobound, tmp_path: Path, arguments: list[str], hint: str):
    (tmp_path / "file").touch()
    ended = iobound(*arguments)
    assert (ended.returncode, ended.stdout) == (2, ""), ended.stderr
    assert hint in ended.stderr
    assert "topsecret" not in ended.stderr
    assert "starting" not in ended.stderr


def test_targets_are_compared_on_what_all_of_them_serve(iobound: Iobound):
    asked = ["run", "--dry-run", "--json", "--targets", "bare-asgi/uvicorn-uvloop,bare-wsgi/gunicorn-sync/psycopg"]
    plan = json.loads(iobound(*asked).stdout)["plan"]
    assert {cell["workload"]["name"] for cell in plan["cells"]} == {"plain", "file"}


def test_several_sizes_of_a_published_list_are_all_planned(iobound: Iobound):
    planned = iobound("run", "web", "--quick", "--dry-run", "--workloads", "sql-list:0,sql-list:1000").stdout
    assert "web/sql-list:0/capacity/c10" in planned
    assert "web/sql-list:1000/capacity/c10" in planned


def test_a_run_in_the_way_is_refused_and_left_alone(iobound: Iobound, tmp_path: Path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{}")
    ended = iobound("run", "--workloads", "plain", "--out", "run")
    assert ended.returncode == 2
    assert "already holds a run" in ended.stderr
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["run.json"]


def test_a_run_is_continued_as_it_was(iobound: Iobound, tmp_path: Path):
    header = header_with(target_cores=[0])
    runs.RunWriter.create(tmp_path / "run", header).close()
    ended = iobound("run", "--resume", "run", "--seed", "2")
    assert ended.returncode == 2
    assert "--seed can't be given with --resume" in ended.stderr
    run = runs.read(tmp_path / "run")
    stages.refuse_other_laboratory(run, header)
    with pytest.raises(UsageError, match=r"environment.target_cores: \[0\] and \[1\]"):
        stages.refuse_other_laboratory(run, header_with(target_cores=[1]))


def header_with(target_cores: list[int]) -> RunHeader:
    plan = Plan(
        experiments=["web"], cells=[], comparisons=[], launches=1, blocks_per_launch=1, block_s=1, warmup_s=0, budget_s=1,
        precision=0.05, seed=0, quick=True,
    )  # fmt: skip
    environment = Environment(
        host={}, cores=[0, 1], target_cores=target_cores, other_cores=[], shared_cores=None, services=[], packages={},
        ceilings=[],
    )  # fmt: skip
    return RunHeader(schema=SCHEMA, iobound="0", created=0.0, command=[], plan=plan, environment=environment)


def test_a_dead_database_ends_the_run_and_is_not_the_target_s_fault(tmp_path: Path):
    tmp = Path(tempfile.mkdtemp(prefix="test-dead-"))  # where the user of the database gets to
    tmp.chmod(0o1777)
    asked = ["run", "--quick", "--targets", "bare-wsgi/gunicorn-sync/psycopg,bare-wsgi/gunicorn-gthread/psycopg"]
    with subprocess.Popen(
        [*COMMAND, *asked, "--workloads", "sql-list", "--out", "run"],
        cwd=tmp_path,
        env=os.environ | {"TMPDIR": str(tmp)},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as running:
        trials = tmp_path / "run" / "trials.jsonl"
        while not (trials.exists() and trials.stat().st_size):
            assert running.poll() is None
            time.sleep(0.05)
        [lock] = tmp.glob("iobound-postgresql-*/data/postmaster.pid")
        os.kill(int(lock.read_text().split()[0]), signal.SIGQUIT)
        printed, said = running.communicate(timeout=60)
    assert (running.returncode, printed) == (3, ""), said
    assert "postgresql died while it was measured on" in said
    assert "continue with: iobound run --resume run" in said
    assert "Traceback" not in said
    assert (tmp_path / "run" / "report.html").exists()
    assert list(tmp.iterdir()) == []
    tmp.rmdir()


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)])
def test_no_database_is_left_on_a_given_server_even_by_the_impatient(tmp_path: Path, sent: signal.Signals, code: int):
    import psycopg

    with find("postgresql").start(ServiceOptions()) as server:
        url = server.dataset(0)

        def databases() -> set[str]:
            with psycopg.connect(url) as connection:
                return {name for (name,) in connection.execute("SELECT datname FROM pg_database").fetchall()}

        before = databases()
        asked = ["run", "--quick", "--targets", "bare-wsgi/gunicorn-sync/psycopg", "--workloads", "sql-insert"]
        command = [*COMMAND, *asked, "--postgres", url]
        with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as running:
            while databases() == before:
                assert running.poll() is None
                time.sleep(0.02)
            running.send_signal(sent)
            for _ in range(20):
                time.sleep(0.01)
                running.send_signal(signal.SIGINT)
            _, said = running.communicate(timeout=30)
        assert running.returncode == code, said
        assert "Traceback" not in said
        assert databases() == before


def test_passwords_are_not_written_into_a_run():
    asked = ["--postgres", "postgresql://me:top/s@cret@h/d", "--mysql=mysql://h/d?password=topsecret", "--seed", "1"]
    hidden = options.without_passwords(asked)
    assert hidden == ["--postgres", "postgresql://me:***@h/d", "--mysql=mysql://h/d?password=***", "--seed", "1"]


def test_every_service_that_takes_a_url_has_its_option():
    assert options.SERVICE_OPTIONS == {"mysql": "mariadb", "postgres": "postgresql", "valkey": "valkey"}


def test_a_full_disk_under_the_output_is_named(tmp_path: Path):
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run([*COMMAND, "list"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert ended.returncode == 3
    assert ended.stderr == "iobound: No space left on device; make room where the output goes\n"


def test_a_reader_that_has_enough_gets_no_traceback(iobound: Iobound):
    listing = subprocess.Popen([*COMMAND, "list", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert listing.stdout
    listing.stdout.close()
    _, said = listing.communicate(timeout=30)
    assert said == ""


def test_a_cache_that_cannot_be_written_is_named(iobound: Iobound):
    ended = iobound("run", "--quick", "--targets", "bare-asgi/uvicorn-uvloop", XDG_CACHE_HOME="/proc/nowhere")
    assert ended.returncode == 3
    assert "/proc/nowhere/iobound" in ended.stderr
    assert "set XDG_CACHE_HOME" in ended.stderr


def test_help_loads_nothing_heavy():
    imported = subprocess.run([sys.executable, "-X", "importtime", *COMMAND[1:], "--help"], capture_output=True, text=True)
    assert imported.returncode == 0
    modules = {line.rpartition("|")[2].strip() for line in imported.stderr.splitlines()}
    assert not modules & {"scipy", "altair"}


def test_nothing_runs_on(tmp_path: Path, iobound: Iobound):
    compared(iobound, "stays down")
    left = [process for process in psutil.process_iter(["cmdline"]) if "no cheese" in " ".join(process.info["cmdline"] or [])]
    assert left == []
