"""`iobound run calls`, as it is typed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from iobound.lab import interpreters

OWN = "{}.{}".format(*sys.version_info)
FEW = ["--primitives", "wrapped-call,generator-return,generator-stopiteration,greenlet-switch"]


def run(cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "iobound", "run", "calls", "--quick", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=200)


def test_several_interpreters_in_one_run_and_the_missing_one_by_name(tmp_path: Path):
    older = [python for python in ("2.7", "3.8", "pypy3") if interpreters.missing(python) is None]
    ended = run(tmp_path, "--python", ",".join([OWN, *older, "3.99"]), *FEW, "--budget", "20s", "--json")
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    measured = {(cell["python"], cell["primitive"]): cell for cell in found["cells"]}
    for python in [OWN, *older]:
        assert measured[python, "call"]["ns"]["estimate"] > 0
        assert {"python", "primitive", "loop", "ns", "relative", "what"} <= set(measured[python, "wrapped-call"])
        assert measured[python, "call"]["ran"]["python"].startswith(interpreters.find(python).version)
    assert ("2.7", "generator-return") not in measured
    [missing] = [each for each in found["not_measured"] if each["stage"] == "unavailable"]
    assert "`uv python install 3.99` installs it" in missing["reason"]
    held = {claim["statement"].rpartition("Python ")[2] for claim in found["claims"] if claim["claim"] == "stopiteration"}
    assert held == {OWN, *older}


def test_the_report_shows_each_interpreter_and_what_an_operation_is(tmp_path: Path):
    ended = run(tmp_path, "--python", OWN, *FEW, "--budget", "3s", "--out", "calls")
    assert ended.returncode == 0, ended.stderr
    assert "What calling, awaiting and switching cost" in ended.stdout
    page = (tmp_path / "calls" / "report.html").read_text()
    assert f"ns on {OWN}" in page
    assert "A switch from one greenlet to another" in page
    assert "Cost of one operation" in page


def test_only_missing_interpreters_cannot_be_measured(tmp_path: Path):
    ended = run(tmp_path, "--python", "3.99", "--json")
    assert ended.returncode == 3
    assert "uv python install 3.99" in ended.stdout


def test_what_is_no_interpreter_is_refused_before_anything_starts(tmp_path: Path):
    ended = run(tmp_path, "--python", "three")
    assert ended.returncode == 2
    assert "--python: 'three' is no version" in ended.stderr
