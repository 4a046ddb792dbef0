"""Round-trip times in a plan, and in a run as it is typed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from iobound.experiments import equal, web
from iobound.measure.groups import group
from iobound.planning import Choice, Question, repetition
from iobound.records import Plan, Workload


def choice(*rtt_ms: float, **more: object) -> Choice:
    return Choice(quick=True, first_available=lambda names: names[0], rtt=rtt_ms, **more)


def rtts(question: Question, workload: str) -> set[float]:
    return {cell.rtt_ms for cell in question.cells if cell.workload.name == workload}


def test_only_what_calls_a_service_is_asked_over_each():
    question = web.plan(choice(0.0, 1.0, 20.0))
    assert rtts(question, "sql-list") == rtts(question, "redis-get") == {0.0, 1.0, 20.0}
    assert rtts(question, "plain") == rtts(question, "file") == {0.0}
    assert question.rtts == {0.0, 1.0, 20.0}


def test_ids_tell_the_round_trip_time_and_no_comparison_mixes_two():
    question = equal.plan(choice(0.0, 0.3))
    cells = {cell.id: cell for cell in question.cells}
    assert len(cells) == len(question.cells)
    for comparison in question.comparisons:
        (rtt_ms,) = {cells[id_].rtt_ms for id_ in comparison.cells}
        assert ("rtt0.3ms" in comparison.id) == (rtt_ms == 0.3)
        assert all(("rtt0.3ms" in id_) == (rtt_ms == 0.3) for id_ in comparison.cells)


def test_without_a_round_trip_time_nothing_changes():
    assert equal.plan(choice()) == equal.plan(choice(0.0))


def test_a_database_in_the_target_stays_where_it_is():
    targets = ["flask/werkzeug/sqlite3", "flask/werkzeug/psycopg"]
    asked = {"targets": targets, "workloads": [Workload(name="sql-point")], "concurrency": [1]}
    question = web.plan(choice(2.0, **asked))
    assert {(cell.service, cell.rtt_ms) for cell in question.cells} == {("sqlite", 0.0), ("postgresql", 2.0)}


def test_each_round_trip_time_has_launches_of_its_own_and_its_share_of_the_budget():
    question = equal.plan(choice(0.0, 1.0, workloads=[Workload(name="sql-list")]))
    plan = Plan(
        experiments=["equal"], cells=question.cells, comparisons=question.comparisons, launches=3, blocks_per_launch=1,
        block_s=1.0, warmup_s=0.0, budget_s=1.0, precision=0.05, seed=1, quick=True,
    )  # fmt: skip
    assert len(group(plan)) == 2
    assert repetition(question.cells) == 2.0
    assert repetition(web.plan(choice(0.0)).cells) == 1.0


def iobound(arguments: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "iobound", *arguments], cwd=cwd, capture_output=True, text=True, timeout=180)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["web", "--rtt", "0.3"], "write 0 or for example 300us"),
        (["web", "--rtt", "1ms,1000us"], "has 1000us twice"),
        (["web", "--rtt", "-1ms"], "is no round-trip time"),
        (["web", "--rtt", "1h"], "is no round-trip time"),
        (["web", "--rtt", "1ms", "--workloads", "plain"], "nothing that is measured here calls a service over a network"),
        (["web", "--jitter", "1ms", "--rtt", "0"], "add for example --rtt 1ms"),
        (["calls", "--rtt", "1ms"], "--rtt isn't a factor of calls"),
    ],
)
def test_what_is_asked_wrongly_is_told_before_anything_starts(given: list[str], told: str, tmp_path: Path):
    ended = iobound(["run", *given], tmp_path)
    assert ended.returncode == 2
    assert told in ended.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.flaky(reruns=2)
def test_a_run_over_two_round_trip_times_shows_each_apart(tmp_path: Path):
    given = [
        "--targets",
        "bare-asgi/uvicorn-uvloop/asyncpg",
        "--workloads",
        "sql-point",
        "--concurrency",
        "4",
        "--rtt",
        "0,20ms",
    ]
    ended = iobound(["run", "web", "--quick", *given, "--budget", "1s", "--json", "--out", "run"], tmp_path)
    assert ended.returncode in {0, 4}, ended.stderr  # 4: too noisy for a verdict
    header = json.loads((tmp_path / "run" / "run.json").read_text())
    assert header["environment"]["relay"]["cpu_us_per_turn"] > 0
    rtts = {cell["id"]: cell["rtt_ms"] for cell in header["plan"]["cells"]}
    lines = map(json.loads, (tmp_path / "run" / "trials.jsonl").read_text().splitlines())
    trials = [line for line in lines if line["type"] == "trial" and line["service"]]
    for trial in trials:
        made, load = trial["service"]["round_trips"], trial["load"]
        if rtts[trial["cell"]] == 0:
            assert made is None
        else:
            assert 1 <= made / load["requests"] < 2.5  # the pool's reset may be one more
            assert load["responses"] / load["seconds"] <= 4 / 0.02 + 4
    assert {rtts[trial["cell"]] for trial in trials} == {0, 20}
    text = iobound(["report", "run", "--format", "md"], tmp_path).stdout
    assert "(sql-point)" in text
    assert "(sql-point over 20 ms)" in text
    assert "relay of the round-trip times" in text
