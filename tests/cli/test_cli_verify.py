"""``iobound verify`` as a person runs it: the whole catalogue, on real services."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import psutil
import pytest

from iobound import workloads
from iobound.lab import catalogue, service
from iobound.measure.conformance import cover
from iobound.records import Workload


def verify(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "iobound", "verify", *arguments], capture_output=True, text=True, check=False)


@pytest.mark.timeout(600)
def test_every_part_answers_every_workload_beside_every_part_that_it_fits():
    said = verify("--json")
    assert said.returncode == 0, said.stderr
    verdicts = {verdict["target"]: verdict for verdict in json.loads(said.stdout)["targets"]}
    assert list(verdicts) == [target.name for target in cover(catalogue.own().targets())]
    missing = {name for name in service.known() if service.find(name).unavailable()}
    for name, verdict in verdicts.items():
        target = catalogue.find(name)
        if target.service in missing or target.unavailable():
            assert verdict["status"] == "unavailable"
            continue
        assert (verdict["status"], verdict["reason"]) == ("verified", None), name
        served = {each for each in workloads.NAMES if target.serves(Workload(name=each))}
        expected = {each for each in served if target.expected_failure(Workload(name=each))}
        assert {each for each, outcome in verdict["workloads"].items() if outcome == "verified"} == served - expected
        assert {each for each, outcome in verdict["workloads"].items() if "fails as expected" in outcome} == expected


def test_the_table_names_targets_and_counts():
    said = verify("flask/werkzeug", "bare-asgi/uvicorn-asyncio")
    assert said.returncode == 0
    assert "flask/werkzeug" in said.stdout
    assert "3 of 3" in said.stdout
    assert said.stdout.splitlines()[-1] == "2 verified"


def test_the_same_reason_is_told_once():
    said = verify(
        *[f"bare-wsgi/{server}/pymysql" for server in ("werkzeug", "gunicorn-sync")], "--mysql", "mysql://a:b@127.0.0.1:9/c"
    )
    assert said.returncode == 3
    assert "bare-wsgi/werkzeug/pymysql and 1 more: " in said.stdout
    assert said.stdout.splitlines()[-1] == "2 unavailable"


def test_interrupted_it_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    command = [sys.executable, "-m", "iobound", "verify", "--json"]
    verifying = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert verifying.stderr
    for line in verifying.stderr:
        if "/" in line:  # the first target was verified, others are being launched
            break
    verifying.send_signal(signal.SIGINT)
    said, _ = verifying.communicate(timeout=30)
    assert (verifying.returncode, said) == (130, "")
    assert list(tmp_path.iterdir()) == []
    assert not [
        process for process in psutil.process_iter(["cmdline"]) if str(tmp_path) in " ".join(process.info["cmdline"] or [])
    ]


def test_an_unknown_target_is_answered_with_the_nearest():
    said = verify("flask/gunicorn-gtread")
    assert (said.returncode, said.stdout) == (2, "")
    assert "did you mean gunicorn-gthread" in said.stderr


def test_a_service_that_refuses_makes_its_targets_unavailable():
    url = "postgresql://nobody:secret@127.0.0.1:9/none"
    said = verify("bare-wsgi/werkzeug/psycopg", "bare-wsgi/werkzeug", "--postgres", url, "--json")
    verdicts = json.loads(said.stdout)["targets"]
    assert [verdict["status"] for verdict in verdicts] == ["unavailable", "verified"]
    assert "127.0.0.1" in verdicts[0]["reason"]
    assert "secret" not in said.stdout + said.stderr
    assert said.returncode == 0
    assert verify("bare-wsgi/werkzeug/psycopg", "--postgres", url).returncode == 3


def test_without_a_network_for_uv_nothing_is_verified_and_the_reason_is_given(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.setenv("UV_OFFLINE", "1")
    said = verify("bare-wsgi/werkzeug", "--json")
    [verdict] = json.loads(said.stdout)["targets"]
    assert said.returncode == 3
    assert verdict["status"] == "unavailable"
    assert "the environment 'catalogue' can't be built" in verdict["reason"]
