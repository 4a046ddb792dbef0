"""Launching: what a target is told, how it is stopped, and what is said where it doesn't come up."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import psutil
import pytest

from iobound.errors import LabError, UsageError
from iobound.lab import catalogue
from iobound.lab.catalogue import FOLDER, Catalogue, Target
from iobound.lab.processes import tree
from iobound.lab.targets import launch, launch_command

SERVER = """\
# /// script
# requires-python = ">=3.11"
# dependencies = []
#
# [tool.iobound]
# kind = "server"
# title = "thrown away"
# accepts = ["wsgi"]
# model = "serial"
# ///
import json, os, sys, time
from http.server import BaseHTTPRequestHandler, HTTPServer


class Handler(BaseHTTPRequestHandler):
    status = 200

    def do_GET(self):
        body = json.dumps({"environment": json.dumps(dict(os.environ))}).encode()
        self.send_response(self.status)
        self.end_headers()
        self.wfile.write(body if self.status == 200 else b"no")

    def log_message(self, *arguments):
        pass


def serve():
    HTTPServer((os.environ["HOST"], int(os.environ["PORT"])), Handler).serve_forever()


"""


@pytest.fixture
def serving(tmp_path):
    """Makes a target whose server file ends in some code of a test's own."""

    def make(code: str) -> Target:
        (tmp_path / "servers").mkdir(exist_ok=True)
        (tmp_path / "servers" / "own.py").write_text(SERVER + code)
        return Catalogue(FOLDER, tmp_path).find("flask/own")

    return make


@pytest.fixture(autouse=True)
def nothing_is_left(monkeypatch, tmp_path_factory):
    """Every test here leaves no folder of a target and no process."""
    temporary = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    before = set(psutil.Process().children(recursive=True))
    yield
    assert list(temporary.glob("iobound-*")) == []
    assert set(psutil.Process().children(recursive=True)) <= before


def fetch(url: str) -> bytes:
    with urllib.request.urlopen(url) as response:
        return response.read()


def test_a_target_answers_and_is_gone_when_it_is_left():
    with launch(catalogue.find("flask/gunicorn-gthread"), settings={"WORKERS": "2"}) as running:
        assert fetch(f"{running.url}/plain") == b"Hello, World!"
        pids = tree(running.pid)
        assert len(pids) == 3
        assert running.alive()
    assert not any(psutil.pid_exists(pid) for pid in pids)
    assert not running.alive()
    running.stop()


def test_it_is_told_its_settings_and_nothing_of_the_callers(serving, monkeypatch):
    monkeypatch.setenv("WEB_CONCURRENCY", "7")
    monkeypatch.setenv("PYTHONASYNCIODEBUG", "1")
    with launch(serving("serve()\n"), settings={"POOL_SIZE": "3"}) as running:
        told = json.loads(running.ran()["environment"])
    assert told["POOL_SIZE"] == "3"
    assert told["PATH"] == os.environ["PATH"]
    assert not {"WEB_CONCURRENCY", "PYTHONASYNCIODEBUG"} & set(told)
    assert Path(told["HOME"]).name.startswith("iobound-target-")
    assert Path(told["FILE_PATH"]).stat().st_size == 4000


def test_it_is_pinned_with_its_descendants():
    core = min(os.sched_getaffinity(0))
    with launch(catalogue.find("flask/gunicorn-sync"), settings={}, cpus=[core]) as running:
        assert [os.sched_getaffinity(pid) for pid in tree(running.pid)] == [{core}, {core}]


def test_one_that_ends_is_told_with_its_exit_code_and_what_it_printed(serving):
    with pytest.raises(LabError) as caught:
        launch(serving("print('no licence'); sys.exit(7)\n"), settings={})
    assert str(caught.value).startswith("flask/own didn't start: it ended with 7 before it answered")
    assert "no licence" in str(caught.value)


def test_a_missing_package_is_told(serving):
    with pytest.raises(LabError, match="No module named 'left_pad'"):
        launch(serving("import left_pad\n"), settings={})


def test_one_that_listens_and_never_answers_is_given_up(serving):
    silent = "s = __import__('socket').create_server(('127.0.0.1', int(os.environ['PORT'])))\n"
    silent += "print('stuck', flush=True)\ntime.sleep(60)\n"
    with pytest.raises(LabError, match=r"own didn't start: 0\.5 s passed before it answered(.|\n)*stuck"):
        launch(serving(silent), settings={}, timeout_s=0.5)


def test_one_that_answers_500_is_told_at_once(serving):
    started = time.monotonic()
    with pytest.raises(LabError, match=r"GET /_ran answered 500 b'no'; it printed:\n"):
        launch(serving("Handler.status = 500\nserve()\n"), settings={}, timeout_s=60)
    assert time.monotonic() - started < 30


@pytest.mark.parametrize(
    ("name", "url", "reason"),
    [
        ("flask/werkzeug/pymysql", "mysql://a:b@127.0.0.1:9/c", "Can't connect to MySQL server"),
        ("starlette/uvicorn-uvloop/tortoise-asyncpg", "postgresql://a:b@127.0.0.1:9/c", "ConnectionRefusedError"),
        ("bare-asgi/granian-asgi/aiosqlite", "sqlite:////nowhere/at-all.db", "unable to open database file"),
    ],
)
def test_one_whose_database_is_not_there_does_not_start(name, url, reason):
    with pytest.raises(LabError) as caught:
        launch(catalogue.find(name), settings={"DATABASE_URL": url})
    assert str(caught.value).startswith(f"{name} didn't start: ")
    assert reason in str(caught.value)


def test_a_port_in_use_is_named_before_anything_is_started():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(LabError, match=f"can't listen on port {port} of 127.0.0.1"):
            launch(catalogue.find("flask/werkzeug"), settings={"PORT": str(port)})


def test_one_that_dies_midway_is_noticed(serving):
    code = (
        "import threading\nthreading.Timer(0.3, lambda: (print('out of memory', flush=True), os._exit(9))).start()\nserve()\n"
    )
    with launch(serving(code), settings={}) as running:
        deadline = time.monotonic() + 10
        while running.alive() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not running.alive()
        assert "out of memory" in running.output()
        with pytest.raises(LabError, match=r"flask/own doesn't say what runs(.|\n)*out of memory"):
            running.ran()


def test_one_that_ignores_its_stop_signal_is_gone_all_the_same(serving):
    with launch(serving("import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nserve()\n"), settings={}) as running:
        pid = running.pid
    assert not psutil.pid_exists(pid)


def test_a_killed_iobound_leaves_no_target():
    program = (
        "from iobound.lab import catalogue, targets\n"
        "running = targets.launch(catalogue.find('flask/gunicorn-gthread'), settings={})\n"
        "print(running.pid, flush=True); import time; time.sleep(60)\n"
    )
    environment = os.environ | {"TMPDIR": tempfile.gettempdir()}
    caller = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment)
    assert caller.stdout
    pids = tree(int(caller.stdout.readline()))
    assert len(pids) == 2
    caller.send_signal(signal.SIGKILL)
    caller.communicate()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and (any(map(psutil.pid_exists, pids)) or list(Path(tempfile.gettempdir()).iterdir())):
        time.sleep(0.01)
    assert not any(map(psutil.pid_exists, pids))


def test_a_users_command_is_told_its_port():
    with launch_command([sys.executable, "-m", "http.server", "--bind", "127.0.0.1", "{port}"]) as running:
        assert fetch(running.url).startswith(b"<!DOCTYPE")
        assert running.alive()


def test_a_users_command_without_a_port_is_refused():
    with pytest.raises(UsageError, match=r"command `sleep 60`: it isn't told its port; write \{port\}"):
        launch_command(["sleep", "60"])


def test_a_users_command_that_is_not_there_is_named():
    with pytest.raises(LabError, match="no-such-command"):
        launch_command(["no-such-command", "{port}"])


def test_ipv6(serving):
    if not socket.has_ipv6:
        pytest.skip("no IPv6")
    code = "import socket\nHTTPServer.address_family = socket.AF_INET6\nserve()\n"
    with launch(serving(code), settings={"HOST": "::1"}) as running:
        assert running.url.startswith("http://[::1]:")
        host, _, port = running.url.removeprefix("http://[").partition("]:")
        connection = http.client.HTTPConnection(host, int(port))
        connection.request("GET", "/")
        assert connection.getresponse().status == 200
        connection.close()
