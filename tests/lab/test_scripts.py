"""Scripts get their job, are read line by line, and whatever goes wrong with one is told."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from iobound.errors import LabError
from iobound.lab import scripts
from iobound.lab.environments import Environment

HERE = Environment("here", Path(sys.executable), {})
ECHO = "import json, sys; job = json.load(sys.stdin); print(json.dumps({'told': job['say']}))"
Started = Callable[..., scripts.Script]


@pytest.fixture
def start(tmp_path: Path) -> Started:
    def start(program: str, **files: str) -> scripts.Script:
        paths = {}
        for name, text in {"program": program, **files}.items():
            paths[f"{name}.py"] = tmp_path / f"{name}.py"
            paths[f"{name}.py"].write_text(text)
        return scripts.launch("the script", paths, HERE, {"say": "hello"})

    return start


def test_gives_the_job_and_reads_lines(start: Started):
    with start(f"{ECHO}; print(json.dumps({{'more': 1}}))") as script:
        assert list(script.lines(10)) == [{"told": "hello"}, {"more": 1}]


def test_lines_come_as_they_are_printed(start: Started):
    waits = (
        "import pathlib, time\nprint('{\"n\": 1}', flush=True)\n"
        "while not pathlib.Path('go').exists(): time.sleep(0.01)\nprint('{\"n\": 2}')"
    )
    with start(waits) as script:
        lines = script.lines(20)
        assert next(lines) == {"n": 1}
        Path(psutil.Process(script.pid).cwd(), "go").touch()
        assert list(lines) == [{"n": 2}]


def test_imports_what_it_was_given_and_what_python_has(start: Started):
    program = "import driver, asyncio, json; print(json.dumps({'driver': driver.NAME, 'loop': hasattr(asyncio, 'run')}))"
    with start(program, driver="NAME = 'mine'") as script:
        assert list(script.lines(10)) == [{"driver": "mine", "loop": True}]


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("raise SystemExit('out of cheese')", "out of cheese"),
        ("print('no json')", "no line of JSON"),
        ("print('[1]')", "no line of JSON"),
        ("import time; time.sleep(60)", "hasn't ended after 0.5 s"),
        ("import os; print('{}', flush=True); os.kill(os.getpid(), 9)", "ended with -9"),
    ],
)
def test_tells_what_went_wrong(start: Started, program: str, says: str):
    with start(program) as script, pytest.raises(LabError, match=says):
        list(script.lines(0.5 if "sleep" in program else 10))


def test_leaves_nothing(start: Started):
    with start(
        "import subprocess, sys; subprocess.Popen(['sleep', '60']); print('{}', flush=True); sys.stdin.read(); "
        "import time; time.sleep(60)"
    ) as script:
        next(script.lines(10))
        folder = Path(psutil.Process(script.pid).cwd())
        family = psutil.Process(script.root).children(recursive=True)
        assert len(family) == 2
    assert not folder.exists()
    assert not any(process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in family)
