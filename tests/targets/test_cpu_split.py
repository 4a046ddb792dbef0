"""The split of wall time is held against programs that burn, sleep, queue and call the kernel for a known time."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import iobound
from iobound.lab import interpreters

pytestmark = pytest.mark.flaky(reruns=2)  # a shared machine steals time now and then, which no truth knows of

STATEMENTS = Path(iobound.__file__).parent / "targets" / "statements"
PREAMBLE = """
import hashlib, json, os, sys, threading, time
import cpu_split

def burn(seconds):
    until = cpu_split.nanoseconds(cpu_split.CLOCK_THREAD_CPUTIME_ID) + seconds * 1e9
    while cpu_split.nanoseconds(cpu_split.CLOCK_THREAD_CPUTIME_ID) < until:
        sum(range(100))

before = cpu_split.start()
"""
ENDING = """
print(json.dumps(cpu_split.stop(before)))
"""
NEAR_S = 0.004  # a tick, which other threads' and processes' times are told by


def started(program: str, python: str | Path = sys.executable, cpu: int | None = None) -> subprocess.Popen[bytes]:
    argv = ["taskset", "-c", str(cpu), str(python)] if cpu is not None else [str(python)]
    return subprocess.Popen(
        [*argv, "-c", PREAMBLE + program + ENDING],
        env={**os.environ, "PYTHONPATH": str(STATEMENTS), "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
    )


def ended(process: subprocess.Popen[bytes]) -> dict[str, float]:
    out, _ = process.communicate(timeout=60)
    split = {name.removesuffix("_ns"): value / 1e9 for name, value in json.loads(out).items()}
    parts = sum(split[part] for part in ("user", "system", "runqueue", "wait"))
    assert parts == pytest.approx(split["wall"], abs=1e-6)
    assert min(split.values()) >= 0
    return {**split, "cpu": split["user"] + split["system"]}


def split(program: str, python: str | Path = sys.executable) -> dict[str, float]:
    return ended(started(program, python))


def pythons() -> list[str]:
    return [asked for asked in ("2.7", "3.6", "3.8", "3.13", "pypy3") if asked in interpreters.common()]


@pytest.mark.parametrize("python", ["own", *pythons()])
def test_what_is_burnt_and_what_is_slept_are_told_apart(python: str) -> None:
    path = sys.executable if python == "own" else interpreters.find(python).path
    seen = split("burn(0.1)\ntime.sleep(0.15)\nburn(0.05)", path)
    assert seen["cpu"] == pytest.approx(0.15, rel=0.05, abs=NEAR_S)
    assert seen["wait"] == pytest.approx(0.15, rel=0.05, abs=NEAR_S)


def test_many_short_sleeps_are_waits() -> None:
    seen = split("for _ in range(100):\n    burn(0.001)\n    time.sleep(0.002)")
    assert seen["cpu"] == pytest.approx(0.1, rel=0.1)
    assert 0.2 <= seen["wait"] <= 0.2 * 1.15  # the timer's slack is waiting too


def test_waiting_for_a_core_is_no_waiting_for_io() -> None:
    core = min(os.sched_getaffinity(0))
    pair = [started("burn(0.3)", cpu=core) for _ in range(2)]
    for process in pair:
        seen = ended(process)
        assert seen["cpu"] == pytest.approx(0.3, rel=0.05)
        assert seen["runqueue"] > 0.3 * seen["wall"]
        assert seen["wait"] < 0.05 * seen["wall"]


def test_system_calls_are_system_time_and_arithmetic_is_user_time() -> None:
    calls = split("zeros = open('/dev/zero', 'rb', 0)\nfor _ in range(2000):\n    zeros.read(1 << 20)")
    assert calls["system"] > 0.7 * calls["cpu"]
    arithmetic = split("burned = sum(number * number for number in range(3000000))")
    assert arithmetic["user"] > 0.8 * arithmetic["cpu"]


def test_the_work_of_another_thread_is_no_wait() -> None:
    seen = split(
        "done = threading.Event()\n"
        "worker = threading.Thread(target=lambda: (burn(0.2), done.set(), time.sleep(5)), daemon=True)\n"
        "worker.start(); done.wait(); time.sleep(0.1)"
    )
    assert seen["threads"] == pytest.approx(0.2, rel=0.05, abs=NEAR_S)
    assert seen["cpu"] == pytest.approx(0.2, rel=0.05, abs=NEAR_S)
    assert seen["wait"] == pytest.approx(0.1, rel=0.1, abs=2 * NEAR_S)


def test_what_runs_beside_the_main_thread_counts_no_further_than_it_waits() -> None:
    beside = "hashlib.sha256(b'0' * 150000000)"  # without the lock of the interpreter
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one core: nothing runs beside anything")
    seen = split(f"worker = threading.Thread(target=lambda: {beside})\nworker.start()\n{beside}\nworker.join()")
    assert seen["cpu"] <= seen["wall"]
    assert seen["threads"] > 0


def test_the_time_of_a_service_is_that_of_its_processes() -> None:
    child = (
        "import subprocess\n"
        "loop = 'read line; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo; read line'\n"
        "shell = subprocess.Popen(['sh', '-c', loop], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        "idle = cpu_split.used_by([shell.pid])\n"
        "used = os.times()[2]\n"
        "shell.stdin.write(b'go\\n'); shell.stdin.flush(); shell.stdout.readline()\n"
        "time.sleep(0.01)\n"
        "busy = cpu_split.used_since(idle, cpu_split.used_by([shell.pid]))\n"
        "shell.stdin.close(); shell.wait()\n"
        "print(json.dumps([busy / 1e9, sum(os.times()[2:4])]))\n"
        "sys.exit()\n"
    )
    out, _ = started(child).communicate(timeout=60)
    seen, truth = json.loads(out)
    assert seen == pytest.approx(truth, rel=0.1, abs=0.01)


def test_what_ends_in_between_takes_nothing_from_the_time_of_a_service() -> None:
    out, _ = started("print(json.dumps(cpu_split.used_since({1: 900, 2: 5}, {2: 8, 3: 4})))\nsys.exit()\n").communicate(
        timeout=60
    )
    assert json.loads(out) == 3 + 4
