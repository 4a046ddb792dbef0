"""The program that measures primitives, held against primitives whose cost is known by construction; on Python 2.7 as well."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from iobound.lab import environments, interpreters, primitives, scripts
from iobound.lab.environments import Environment
from iobound.lab.parts import Primitives, read
from iobound.lab.scripts import Line

PYTHONS = ["2.7", "3.6", "3.8", "pypy3", None]

HEAD = """
import time
from timeit import default_timer as clock


def _call():
    return 5
"""

BODY = """
def {name}(times):
    "{name}."
    started = clock()
    for _ in times:
        {body}
    return clock() - started
"""

Run = Callable[..., list[Line]]


def counted(count: int) -> str:
    """Return a primitive of so many calls of the same function."""
    return BODY.format(name=f"calls_{count}", body="; ".join(["_call()"] * count))


@pytest.fixture(params=PYTHONS, ids=str)
def bare(request) -> Environment:
    """Return an interpreter without packages; a test of one that this machine lacks is skipped."""
    if request.param and (missing := interpreters.missing(request.param)):
        pytest.skip(missing)
    return environments.bare(request.param)


@pytest.fixture
def run(tmp_path) -> Run:
    """Return a function that measures a family, given as text or as a file, and returns the lines that were printed."""

    def run(family: str | Path, environment: Environment, peer: Path | None = None, **job: object) -> list[Line]:
        if isinstance(family, str):
            (tmp_path / "family.py").write_text(HEAD + family)
            family = tmp_path / "family.py"
        files = {
            "program.py": primitives.FOLDER / "program.py",
            "peer.py": peer or primitives.FOLDER / "peer.py",
            "primitives.py": family,
        }
        asked = {"primitives": None, "loop": None, "target_s": 0.002, "values": 20, "seed": "1", **job}
        with scripts.launch("calls", files, environment, asked) as script:
            return list(script.lines(60))

    return run


def by_name(lines: list[Line]) -> dict[str, Line]:
    return {line["primitive"]: line for line in lines[1:]}


def ns(line: Line) -> float:
    return min(line["ns"])


def test_so_many_calls_cost_so_many_times_one(run, bare):
    if "pypy" in bare.python.name:
        pytest.skip("PyPy's compiler leaves out calls that do nothing")
    launches = [by_name(run("".join(map(counted, (10, 20, 200))), bare)) for _ in range(3)]
    ten, twenty, more = (min(ns(launch[f"calls-{count}"]) for launch in launches) for count in (10, 20, 200))
    assert twenty / ten == pytest.approx(2, rel=0.25)
    assert more / ten == pytest.approx(20, rel=0.25)


def test_the_loop_around_is_subtracted(run, bare):
    nothing = by_name(run(BODY.format(name="nothing", body="pass"), bare))["nothing"]
    assert abs(ns(nothing)) < 0.5 * nothing["overhead_ns"]


def test_a_known_time_is_measured_as_such(run, bare):
    family = "".join(BODY.format(name=f"sleep_{each}_ms", body=f"time.sleep({each / 1e3})") for each in (2, 10))
    measured = by_name(run(family, bare, target_s=0.005, values=10))
    short, long = measured["sleep-2-ms"], measured["sleep-10-ms"]
    assert (ns(short) >= 2e6, ns(long) >= 10e6) == (True, True)
    assert ns(long) / ns(short) == pytest.approx(5, rel=0.2)
    assert short["loops"] >= 2  # of at least 5 ms


SLOW_AT_FIRST = """
slow = [0.3]

def slow_at_first(times):
    "A call, slow the first time."
    started = clock()
    for _ in times:
        _call()
        while slow:
            time.sleep(slow.pop())
    return clock() - started
"""


def test_a_slow_first_time_spoils_neither_calibration_nor_values(run, bare):
    measured = by_name(run(SLOW_AT_FIRST, bare))["slow-at-first"]
    assert measured["loops"] > 500
    assert max(measured["ns"]) < 0.3e9 / measured["loops"]


def test_the_order_is_drawn_by_the_seed(run):
    family = "".join(map(counted, range(1, 9)))
    orders = [[line["primitive"] for line in run(family, environments.bare(), target_s=1e-4, seed=seed)[1:]] for seed in "112"]
    assert orders[0] == orders[1]
    assert orders[0] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2])


def test_one_that_fails_is_told_and_the_others_are_measured(run, bare):
    failing = 'def failing(times):\n    "Fails."\n    raise ValueError("on purpose")\n'
    measured = by_name(run(failing + counted(1), bare))
    assert measured["failing"]["error"] == "ValueError: on purpose"
    assert len(measured["calls-1"]["ns"]) == 20


def test_what_cannot_be_imported_is_named(run, bare):
    [only] = run("import nothing_like_it\n", bare)
    assert "nothing_like_it" in only["unavailable"]


WITHOUT_SERVICE = [
    (name, loop)
    for name, part in primitives.families().items()
    if part.description.service is None
    for loop in [*part.description.loops] or [None]
]


@pytest.mark.parametrize(("family", "loop"), WITHOUT_SERVICE)
@pytest.mark.parametrize("python", PYTHONS, ids=str)
def test_every_family_is_measured_on_every_interpreter_that_it_is_for(run, family, loop, python):
    if python and (missing := interpreters.missing(python)):
        pytest.skip(missing)
    found = interpreters.find(python) if python else interpreters.own()
    path = primitives.families()[family].path
    if not primitives.families()[family].runs_on(found.release):
        return
    environment = primitives.environment(family, loop, python or "{}.{}".format(*found.release))
    first, *lines = run(path, environment, loop=loop, target_s=1e-3, values=2)
    if "unavailable" in first:
        assert found.implementation == "pypy", first
        return
    assert first["ran"]["python"].startswith("{}.{}.".format(*found.release))
    assert first["ran"].get("loop", "").startswith({None: "", "asyncio": "asyncio.", "uvloop": "uvloop."}[loop])
    assert not [line for line in lines if "error" in line]
    measured = {line["primitive"] for line in lines}
    assert measured == set(primitives.names(family)) if python is None else measured <= set(primitives.names(family))
    for line in lines:
        assert len(line["ns"]) == 2
        assert line["what"].endswith(".")


PEER = """
import socket

import peer

def _round_trip(times, delay_s):
    with peer.echo(delay_s) as address:
        connection = socket.create_connection(address)
        started = clock()
        for _ in times:
            connection.sendall(b"x")
            assert connection.recv(1) == b"x"
        taken = clock() - started
        connection.close()
    return taken

def at_once(times):
    "Answered at once."
    return _round_trip(times, 0)

def after_10_ms(times):
    "Answered after 10 ms."
    return _round_trip(times, 0.01)

def after_40_ms(times):
    "Answered after 40 ms."
    return _round_trip(times, 0.04)
"""


def test_the_other_end_of_a_socket_adds_the_delay_that_it_is_told(run, bare):
    measured = by_name(run(PEER, bare, values=5))
    at_once, after_10, after_40 = (ns(measured[name]) for name in ("at-once", "after-10-ms", "after-40-ms"))
    assert (after_10 >= 10e6, after_40 >= 40e6) == (True, True)
    assert (after_40 - at_once) / (after_10 - at_once) == pytest.approx(4, rel=0.2)


@pytest.mark.parametrize(("family", "loop"), [("threads", None), ("asynchronous", "asyncio"), ("asynchronous", "uvloop")])
def test_that_the_other_end_starts_is_no_part_of_a_round_trip(run, tmp_path, family, loop):
    accept = "    connection = listener.accept()[0]\n"
    source = (primitives.FOLDER / "peer.py").read_text()
    assert accept in source
    late = tmp_path / "late.py"
    late.write_text(source.replace(accept, "    time.sleep(0.05)\n" + accept))
    python = "{}.{}".format(*interpreters.own().release)
    path, environment = primitives.families()[family].path, primitives.environment(family, loop, python)
    trips = {"primitives": ["socket-round-trip", "stream-round-trip"], "loop": loop, "values": 3}
    for trip in by_name(run(path, environment, peer=late, **trips)).values():
        assert ns(trip) < 0.1 * 50e6


def test_waiting_for_a_queue_of_threads_is_dearer_than_a_call(run):
    family = primitives.FOLDER / "families"
    hop = by_name(run(family / "threads.py", environments.bare()))["thread-queue-hop"]
    call = by_name(run(family / "plain.py", environments.bare()))["call"]
    assert ns(hop) > 10 * ns(call)


def test_the_family_on_the_how_to_page_works(run, bare, tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "add-a-primitive.md").read_text()
    [program] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    family = tmp_path / "events.py"
    family.write_text(program)
    assert read(family, Primitives).runs_on((2, 7))
    assert ns(by_name(run(family, bare))["event-wait"]) > 0
