"""Samples of stacks are held against a program that burns in two functions and rests in a third."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from iobound.lab import interpreters
from iobound.lab.probes import stacks

PROGRAM = """
import sys, time

def burn(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass

def often():
    burn(0.012)

def seldom():
    burn(0.004)

def rest():
    time.sleep(0.004)

until = time.time() + 1.2
print("begun", flush=True)
while time.time() < until:
    often(); seldom(); rest()
"""
COLLECTING = """
import gc, time
heap = [[number] for number in range(200000)]
gc.collect()
collected = begun = 0.0

def watch(phase, info):
    global collected, begun
    if phase == "start":
        begun = time.process_time()
    else:
        collected += time.process_time() - begun

gc.callbacks.append(watch)
until = time.time() + 1.2
print("begun", flush=True)
used = time.process_time()
while time.time() < until:
    kept = [(number, [number]) for number in range(1000)]
print(collected / (time.process_time() - used), flush=True)
"""
SUPPORTED = [asked for asked in ("3.8", "3.10", "3.12", "3.13") if asked in interpreters.common()]


@contextmanager
def running(python: Path | str, folder: Path, program: str = PROGRAM) -> Iterator[subprocess.Popen[bytes]]:
    (folder / "program.py").write_text(program)
    with subprocess.Popen([python, folder / "program.py"], stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        yield process


def inclusive(seen: stacks.Stacks, function: str) -> int:
    """Return in how many samples a function was; before Python 3.11 they don't tell its class, but neither has these."""
    return sum(count for stack, count in seen.counts.items() if f"program.py:{function}" in stack)


@pytest.mark.parametrize("python", ["own", *SUPPORTED])
def test_functions_are_seen_for_as_long_as_they_are_on_a_processor(python: str, tmp_path: Path):
    path = sys.executable if python == "own" else interpreters.find(python).path
    with running(path, tmp_path) as process, stacks.sampled(process.pid, []) as seen:
        process.wait()
    often, seldom = inclusive(seen, "often"), inclusive(seen, "seldom")
    assert seen.failed is None
    assert often + seldom > 200
    assert often / (often + seldom) == pytest.approx(0.75, abs=0.1)
    assert inclusive(seen, "rest") < 0.1 * (often + seldom)
    assert {stack[0] for stack in seen.counts if len(stack) > 1} == {"program.py:<module>"}


def test_garbage_collection_is_told_from_what_it_interrupts_and_from_the_end_of_the_program(tmp_path: Path):
    with running(sys.executable, tmp_path, COLLECTING) as process, stacks.sampled(process.pid, []) as seen:
        process.wait()
        assert process.stdout
        truth = float(process.stdout.read())
    collecting = sum(count for stack, count in seen.counts.items() if stack[-1] == ":GC:")
    assert collecting / seen.counts.total() == pytest.approx(truth, abs=0.15)
    assert 0.1 < truth < 0.9
    assert (":GC:",) not in seen.counts


def test_a_process_that_is_gone_is_told_and_fails_nothing():
    with subprocess.Popen(["true"]) as process:
        process.wait()
    with stacks.sampled(process.pid, []) as seen:
        pass
    assert seen.failed
    assert str(process.pid) in seen.failed
    assert not seen.counts


def test_what_austin_does_not_read_is_told():
    assert "3.8" in (stacks.unavailable("pypy", (3, 10)) or "")
    assert "3.8" in (stacks.unavailable("cpython", (2, 7)) or "")
    assert stacks.unavailable("cpython", (3, 11)) is None


@pytest.mark.parametrize(
    ("frame", "named"),
    [
        (
            "/x/lib/python3.11/site-packages/pymysql/connections.py:Connection.query:12",
            "pymysql/connections.py:Connection.query",
        ),
        ("/x/lib/python3.11/asyncio/events.py:Handle._run:80", "python/asyncio/events.py:Handle._run"),
        ("/tmp/folder/program.py:main:3", "program.py:main"),
        (":GC:", ":GC:"),
    ],
)
def test_a_frame_is_named_as_its_module_is_imported(frame: str, named: str):
    assert stacks.named(frame) == named
