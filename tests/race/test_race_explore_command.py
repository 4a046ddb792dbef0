import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "voucher.py"
COMMAND = [sys.executable, "-m", "iobound", "race"]


def run(*arguments, cwd):
    return subprocess.run([*COMMAND, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, timeout=120)


def test_explore_and_replay(tmp_path):
    explored = run("explore", f"{EXAMPLE}:redeem", "--json", cwd=tmp_path)
    assert explored.returncode == 1, explored.stderr
    found = json.loads(explored.stdout)
    assert (found["verdict"], found["schedules"], found["violations"]) == ("violated", 92, 80)
    assert found["anomaly"] == "P4 (lost update)"
    replay = json.loads((tmp_path / found["replay"]).read_text())
    assert replay["schedule"] == found["levels"][0]["example"]["execution"]["schedule"]

    again = run("replay", found["replay"], "--json", cwd=tmp_path)
    assert again.returncode == 1, again.stderr
    example = json.loads(again.stdout)["levels"][0]["example"]
    assert example["execution"]["steps"] == found["levels"][0]["example"]["execution"]["steps"]


@pytest.mark.parametrize("database", ["mariadb", "sqlite"])
def test_the_example_of_each_database_is_violated(tmp_path, database):
    example = EXAMPLE.with_name(f"voucher_{database}.py")
    explored = run("explore", f"{example}:redeem", "--database", database, "--json", cwd=tmp_path)
    assert explored.returncode == 1, explored.stderr
    found = json.loads(explored.stdout)
    assert (found["verdict"], found["anomaly"]) == ("violated", "P4 (lost update)")


def test_text_and_a_level_that_holds(tmp_path):
    explored = run("explore", f"{EXAMPLE}:redeem", "--isolation", "serializable", cwd=tmp_path)
    assert explored.returncode == 0, explored.stderr
    assert "serializable: holds (92/92 schedules, exhaustive)" in explored.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_replay_of_code_that_has_changed(tmp_path):
    source = EXAMPLE.read_text()
    program = tmp_path / "shop.py"
    program.write_text(source)
    assert run("explore", f"{program}:redeem", cwd=tmp_path).returncode == 1
    program.write_text(source.replace('WHERE code = %s", [code]).fetchone', 'WHERE code = %s FOR UPDATE", [code]).fetchone'))
    again = run("replay", "redeem.replay.json", cwd=tmp_path)
    assert again.returncode == 4
    assert "the function has changed" in again.stderr


def test_what_a_function_prints_stays_out_of_the_result(tmp_path):
    program = tmp_path / "shop.py"
    program.write_text(EXAMPLE.read_text().replace("    with psycopg", "    print('hello')\n    with psycopg"))
    explored = run("explore", f"{program}:redeem", "--json", cwd=tmp_path)
    assert json.loads(explored.stdout)["verdict"] == "violated"
    assert "hello" in explored.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([f"{EXAMPLE}:redem"], "did you mean redeem"),
        (["nowhere.py:redeem"], "no such file"),
        ([f"{EXAMPLE}"], "FILE:NAME"),
        ([f"{EXAMPLE}:SETUP"], "race.case"),
    ],
)
def test_a_function_that_is_not_there(arguments, message, tmp_path):
    explored = run("explore", *arguments, cwd=tmp_path)
    assert explored.returncode == 2
    assert message in explored.stderr


def test_ctrl_c_leaves_nothing_behind(tmp_path):
    program = tmp_path / "slow.py"
    program.write_text(EXAMPLE.read_text().replace("    with psycopg", "    import time; time.sleep(1)\n    with psycopg"))
    process = subprocess.Popen(
        [*COMMAND, "explore", f"{program}:redeem"], cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    while "exploring" not in (line := process.stderr.readline()):
        assert line, "it ended"
    family = psutil.Process(process.pid).children(recursive=True)
    assert family
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    deadline = time.monotonic() + 10
    while any(each.is_running() and each.status() != psutil.STATUS_ZOMBIE for each in family):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert {path.name for path in tmp_path.iterdir()} <= {"slow.py", "__pycache__"}
