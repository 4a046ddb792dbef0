import json
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from iobound.errors import LabError
from iobound.lab import processes
from iobound.lab.processes import Guarded, free_port, spawn, tree, wait_for_port
from iobound.lab.unprivileged import User

ENV = {"PATH": os.environ["PATH"]}

FAMILY = "sleep 60 & setsid sleep 60 & (setsid sh -c 'trap \"\" TERM; sleep 60 & sleep 60' &); echo ready; wait"


def until(condition, timeout_s=10.0):
    """Wait for `condition()` and tell whether it came true."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def lives(pid):
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


@pytest.fixture
def shell(tmp_path):
    started = []

    def start(script, **options) -> Guarded:
        started.append(spawn(["sh", "-c", script], env=options.pop("env", ENV), log=tmp_path / "log", **options))
        return started[-1]

    yield start
    for process in started:
        process.stop()


def test_output_returncode_and_end_by_itself(shell):
    process = shell("echo out; echo err >&2; exit 3")
    assert until(lambda: not process.alive())
    assert process.returncode == 3
    assert process.output() == "out\nerr\n"


def test_returncode_of_a_signal_and_stop_twice(shell):
    process = shell("exec sleep 60")
    assert process.alive()
    assert process.returncode is None
    process.stop()
    process.stop()
    assert process.returncode == -signal.SIGTERM
    assert not process.alive()


def test_output_is_a_bounded_tail_and_outlives_the_log(shell, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    process = spawn(["sh", "-c", "seq 100000; exit"], env=ENV, log=folder / "log", remove=[folder])
    process.stop()
    assert not folder.exists()
    assert len(process.output()) <= processes.TAIL_BYTES


def test_environment_folder_and_cores_are_as_asked(shell, tmp_path):
    core = min(os.sched_getaffinity(0))
    process = shell("env; pwd; grep Cpus_allowed_list /proc/self/status", env={"ONLY": "this"}, cwd=tmp_path, cpus=[core])
    assert until(lambda: not process.alive())
    lines = process.output().splitlines()
    assert "ONLY=this" in lines
    assert not any(line.startswith("HOME=") for line in lines)
    assert str(tmp_path) in lines
    assert f"Cpus_allowed_list:\t{core}" in lines


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change the user")
def test_runs_as_another_user_and_is_stopped(shell):
    process = shell("id -u; id -G; echo ready; exec sleep 60", user=User(65534, 65534))
    assert until(lambda: "ready" in process.output())
    assert process.output().split()[:2] == ["65534", "65534"]
    process.stop()
    assert process.returncode == -signal.SIGTERM


def test_what_cannot_be_started_is_named(tmp_path):
    with pytest.raises(LabError, match=r"can't start no-such-program: .*No such file"):
        spawn(["no-such-program"], env=ENV, log=tmp_path / "log")
    with pytest.raises(LabError, match="can't write the log"):
        spawn(["true"], env=ENV, log=tmp_path / "missing" / "log")


def test_stop_ends_all_descendants_and_removes(shell, tmp_path):
    folder = tmp_path / "data"
    (folder / "deep").mkdir(parents=True)
    process = shell(FAMILY, remove=[folder])
    assert until(lambda: len(tree(process.pid)) >= 3)
    orphan = [child.pid for child in psutil.Process(psutil.Process(process.pid).ppid()).children(recursive=True)]
    process.stop()
    assert not any(map(lives, orphan))
    assert not folder.exists()


def test_end_by_itself_takes_descendants_along(shell):
    process = shell("setsid sleep 60 & echo $!")
    assert until(lambda: not process.alive())
    assert until(lambda: not lives(int(process.output())))


def test_what_ignores_the_stop_signal_is_killed_after_the_grace(shell):
    process = shell("trap '' INT; echo ready; while :; do sleep 0.1; done", stop_signal=signal.SIGINT, grace_s=0.3)
    assert until(lambda: "ready" in process.output())
    process.stop()
    assert process.returncode == -signal.SIGKILL


OWNER = """
import json, os, sys, time
from pathlib import Path
from iobound.lab.processes import spawn
folder = Path(sys.argv[1])
process = spawn(["sh", "-c", sys.argv[2]], env={"PATH": os.environ["PATH"]}, log=folder / "log", remove=[folder])
while "ready" not in process.output():
    time.sleep(0.01)
print(json.dumps(process.pid), flush=True)
try:
    time.sleep(60)
except KeyboardInterrupt:
    process.stop()
    sys.exit(130)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_gone_when_the_owner_ends_by_a_signal_to_its_group(tmp_path, number):
    folder = tmp_path / "data"
    folder.mkdir()
    command = [sys.executable, "-c", OWNER, str(folder), FAMILY]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as owner:
        assert owner.stdout
        pid = json.loads(owner.stdout.readline())
        guard = psutil.Process(psutil.Process(pid).ppid())
        family = [guard.pid, *(child.pid for child in guard.children(recursive=True))]
        assert len(family) >= 5
        os.killpg(owner.pid, number)
        owner.wait()
    assert until(lambda: not any(map(lives, family)) and not folder.exists())


def test_program_gets_the_stop_signal_when_its_guard_is_killed(shell):
    process = shell("exec sleep 60")
    os.kill(psutil.Process(process.pid).ppid(), signal.SIGKILL)
    assert until(lambda: not lives(process.pid))
    assert not process.alive()
    assert process.returncode is None


def test_tree_lists_live_descendants(shell):
    process = shell("sleep 60 & sleep 60 & echo ready; wait")
    assert until(lambda: "ready" in process.output() and len(tree(process.pid)) == 3)
    assert tree(process.pid)[0] == process.pid
    process.stop()
    assert tree(process.pid) == []


def test_free_ports_can_be_bound():
    assert free_port() != free_port()
    assert free_port("::1") > 0


def test_wait_for_port(shell, tmp_path):
    port = free_port()
    with spawn([sys.executable, "-m", "http.server", str(port)], env=ENV, cwd=tmp_path, log=tmp_path / "server") as server:
        wait_for_port("127.0.0.1", port, server, 20)
    died = shell("echo no such option; exit 2")
    with pytest.raises(LabError, match=r"ended with 2 before it listened.*\n.*no such option"):
        wait_for_port("127.0.0.1", port, died, 20)
    with pytest.raises(LabError, match=r"0.1 s passed before it listened on 127.0.0.1:\d+"):
        wait_for_port("127.0.0.1", port, shell("sleep 60"), 0.1)
