"""`iobound explain`, as it is typed: what is refused, what a walk of known steps says, and every way of ending one early."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import psutil
import pytest
from msgspec.structs import replace

from iobound import runs
from iobound.analysis.judging import judge
from iobound.cli import report
from iobound.cli.explain import command
from iobound.errors import UsageError
from iobound.records import Noise, Trial, Waterfall
from iobound.report import json as as_json

COMMAND = [sys.executable, "-m", "iobound"]
PROGRAM = Path(__file__).parent / "programs" / "adjustable.py"
OWN = ["--", sys.executable, str(PROGRAM), "{port}"]
PAIR = ["flask-as-published", "starlette-as-published"]
QUIET = Noise(steal=0, foreign=0, pressure=None, quiet=True, because=None)


def explain(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    ended = subprocess.run([*COMMAND, "explain", *arguments], cwd=cwd, capture_output=True, text=True, timeout=120)
    assert "Traceback" not in ended.stderr
    return ended


def judged(folder: Path) -> Waterfall:
    """Judge a run as if nothing had disturbed it: these are ratios of sleeps, which a busy machine leaves alone."""
    run = runs.read(folder)
    seen = [replace(one, noise=QUIET) if isinstance(one, Trial) else one for one in run.observations]
    judgement = judge(run.header, seen)
    told = json.loads(as_json.render(run.header, judgement, folder))
    (fall,) = judgement.waterfalls
    assert fall.direct
    assert told["direct"]["estimate"] == fall.direct.estimate
    assert all({"factor", "from", "to", "ratio"} <= set(step) for step in told["steps"])
    assert all({"estimate", "low", "high"} <= set(step["ratio"]) for step in told["steps"])
    return fall


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "name two targets"),
        (["flask/waitress"], "name two targets"),
        (["flask-as-publishd", "starlette-as-published"], "did you mean flask-as-published"),
        ([PAIR[0], PAIR[0]], "both ends"),
        ([*PAIR, "--workload", "plane"], "did you mean plain"),
        ([*PAIR, "--workload", "sql-list:1000"], "doesn't serve the workload sql-list:1000"),
        ([*PAIR, "--factor", "A=1,2"], "are for commands"),
        ([*PAIR, "--path", "/"], "are for commands"),
        (["--factor", "A=1,2", "--", "./serve"], "where their port goes"),
        (["--factor", "A=1,2", *OWN, "--", "./serve"], "isn't told its port"),
        (["--factor", "A=1,2", *OWN, *OWN, *OWN], "more than two commands"),
        (OWN, "leaves nothing to change"),
        ([*OWN, *OWN], "leaves nothing to change"),
        *(([f"--factor={text}", *OWN], "two different values") for text in ("A", "A=1", "A=1,1", "A=1,2,3", "=1,2", "A B=1,2")),
        (["--factor=A=1,2", "--factor=A=2,3", *OWN], "has its two values already"),
        (["--factor=PORT=1,2", *OWN], "name another variable"),
        (["--factor=A=1,2", "--path=users", *OWN], "begins with /"),
        (["--factor=A=1,2", "--workload=plain", *OWN], "are for targets"),
        (["--factor=A=1,2", "--postgres=postgresql://h/d", *OWN], "are for targets"),
    ],
)
def test_what_is_asked_wrongly_is_told_before_anything_starts(arguments: list[str], says: str):
    with pytest.raises(UsageError, match=says):
        command.main(["--dry-run", *arguments], standalone_mode=False)


def test_an_option_that_is_misspelt_is_no_command():
    with pytest.raises(click.NoSuchOption) as raised:
        command.main(["--budgt", "3s", *PAIR], standalone_mode=False)
    assert "--budget" in (raised.value.possibilities or [])


def test_a_run_is_never_measured_over_another(tmp_path: Path):
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(UsageError, match="give another --out"):
        command.main([*PAIR, "--out", str(tmp_path)], standalone_mode=False)


def test_a_dry_run_shows_the_steps_and_measures_nothing(tmp_path: Path):
    shown = explain(*PAIR, "--workload", "plain", "--dry-run", cwd=tmp_path)
    assert shown.returncode == 0
    assert "sync or async: Starlette, sync handlers to Starlette" in shown.stdout
    planned = json.loads(explain(*PAIR, "--dry-run", "--json", cwd=tmp_path).stdout)
    (walk,) = planned["plan"]["walks"]
    assert walk["forwards"][-1]["factor"] == "sync or async"
    assert 0 < planned["seconds"]["at_least"] < planned["seconds"]["budget"]
    assert list(tmp_path.iterdir()) == []


def test_commands_that_answer_differently_are_refused_with_the_first_difference(tmp_path: Path):
    ended = explain("--factor", "ANSWER=same old,same new", "--out", "run", *OWN, cwd=tmp_path)
    assert ended.returncode == 1
    assert "with ANSWER=same old and that with ANSWER=same new answer differently" in ended.stderr
    assert "the first wrong one at 5: b'same new' instead of b'same old'" in ended.stderr
    assert not (tmp_path / "run").exists()


def test_each_factor_is_worth_what_it_is_by_construction(tmp_path: Path):
    factors = ["--factor", "SLEEP_MS=40,20", "--factor", "OTHER=1,2"]
    asked = [*factors, "--concurrency", "1", "--quick", "--budget", "6s", "--out", "run", "--json"]
    ended = explain(*asked, *OWN, cwd=tmp_path)
    assert ended.returncode in {0, 4}, ended.stderr  # 4: too noisy for a verdict
    assert [step["factor"] for step in json.loads(ended.stdout)["steps"]] == ["SLEEP_MS", "OTHER"]
    fall = judged(tmp_path / "run")
    slept, other = (step.ratio for step in fall.steps)
    assert slept and other and fall.direct and fall.product
    assert 1.6 < slept.estimate < 2.4
    assert 0.8 < other.estimate < 1.25
    assert fall.product.estimate == pytest.approx(slept.estimate * other.estimate)
    assert fall.product.estimate == pytest.approx(fall.direct.estimate, rel=0.25)
    run = runs.read(tmp_path / "run")
    for format_ in ("terminal", "md", "html", "json", "csv"):
        text = report.render(format_, run, judge(run.header, run.observations))
        assert ("explain///" if format_ == "csv" else "SLEEP_MS") in text


def test_the_swap_alone_is_the_only_step_between_twins(tmp_path: Path):
    twins = ["starlette-sync/uvicorn-uvloop", "starlette/uvicorn-uvloop"]
    ended = explain(*twins, "--quick", "--budget", "1s", "--out", "run", "--json", cwd=tmp_path)
    assert ended.returncode in {0, 4}, ended.stderr
    fall = judged(tmp_path / "run")
    assert [step.factor for step in fall.steps] == ["sync or async"]
    assert fall.product == fall.direct
    assert fall.interaction is None


def test_an_interrupted_walk_is_kept_and_nothing_stays(tmp_path: Path):
    asked = ["--factor", "SLEEP_MS=2,1", "--concurrency", "1", "--out", "run", *OWN]
    with subprocess.Popen([*COMMAND, "explain", *asked], cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        trials = tmp_path / "run" / "trials.jsonl"
        while not (trials.exists() and trials.stat().st_size):
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "kept what was measured in run" in said
    assert "Traceback" not in said
    assert b'"why":"interrupted"' in trials.read_bytes()
    assert (tmp_path / "run" / "report.html").exists()
    left = [" ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"])]
    assert not [line for line in left if str(PROGRAM) in line and "iobound" not in line.split()[:3]]
