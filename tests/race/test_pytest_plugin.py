import re
import subprocess
import sys

import pytest

CODE = """
import os
from contextlib import closing

import psycopg
import pytest

from iobound import race as races

RESET = "DROP TABLE IF EXISTS counter; CREATE TABLE counter (id integer, v integer); INSERT INTO counter VALUES (1, 0)"


def bump(lock=""):
    with closing(psycopg.connect(os.environ["DATABASE_URL"])) as connection, connection:
        ((value,),) = connection.execute(f"SELECT v FROM counter {lock}").fetchall()
        connection.execute("UPDATE counter SET v = %s", [value + 1])


def counted(db):
    return db.scalar("SELECT v FROM counter") == 2


def test_fixture_holds(race):
    race.explore(bump, sessions=[("FOR UPDATE",)] * 2, setup=RESET, invariant=counted).assert_holds()


def test_fixture_violated(race):
    race.explore(bump, setup=RESET, invariant=counted).assert_holds()


@pytest.mark.race(setup=RESET, invariant=counted)
def test_marked_violated():
    bump()


@pytest.mark.race(setup=RESET, invariant=counted)
def test_marked_holds():
    bump("FOR UPDATE")


@pytest.mark.race(sessions=[("FOR UPDATE",)] * 2, setup=RESET)
def test_marked_with_arguments(lock):
    bump(lock)


@pytest.mark.race
@races.case(setup=RESET, invariant=counted)
def test_case_violated():
    bump()


@pytest.mark.race(setup=RESET, invariant=counted)
def test_marker_gives_defaults(race):
    assert race.explore(bump).verdict == "violated"


@pytest.mark.race
def test_marked_without_setup():
    bump()


def test_number_of_schedules(race):
    report = race.explore(bump, setup=RESET, invariant=counted)
    print("exhaustive", not report.levels[0].reduced)


def test_ordinary():
    assert True
"""
HOLDS = {"fixture_holds", "marked_holds", "marked_with_arguments", "marker_gives_defaults", "number_of_schedules", "ordinary"}
FAILED = {"fixture_violated", "marked_violated", "case_violated", "marked_without_setup"}


def run(folder, *arguments):
    command = [sys.executable, "-m", "pytest", "-rA", "-p", "no:rerunfailures", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    (folder / "test_shop.py").write_text(CODE)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    return folder


@pytest.fixture(scope="module")
def output(folder):
    return run(folder).stdout


def ended(output, how):
    return set(re.findall(rf"^{how} test_shop.py::test_(\w+)", output, re.MULTILINE))


def test_explorations_pass_and_fail_as_tests(output):
    assert ended(output, "PASSED") == HOLDS
    assert ended(output, "FAILED") == FAILED


def test_a_failure_shows_the_report_and_how_to_see_it_again(output):
    assert "40 violated" in output or "40 of 50" in output
    assert "give setup=" in output
    replays = re.findall(r"pytest --race-replay (\S+)", output)
    assert any("test_marked_violated" in replay for replay in replays)


def test_a_schedule_is_carried_out_alone_until_it_goes_well(folder, output):
    (replay,) = {file for file in re.findall(r"pytest --race-replay (\S+)", output) if "test_case_violated" in file}
    again = run(folder, "--race-replay", replay, "-k", "case_violated or marked_holds or ordinary").stdout
    assert ended(again, "FAILED") == {"case_violated"}
    assert "1 of 1" in again or "1/1" in again
    assert ended(again, "PASSED") == {"ordinary"}
    assert "a schedule of another function" in again


def test_without_a_cache_no_schedule_is_kept(folder):
    output = run(folder, "-p", "no:cacheprovider", "-k", "marked_violated").stdout
    assert ended(output, "FAILED") == {"marked_violated"}
    assert "AttributeError" not in output
    assert "--race-replay" not in output


def test_only_marked_tests_are_chosen(folder):
    chosen = run(folder, "-m", "race", "--collect-only", "-q").stdout
    assert "test_marked_holds" in chosen
    assert "test_marker_gives_defaults" in chosen
    assert "test_ordinary" not in chosen


def test_the_number_of_schedules_is_limited(folder):
    assert "exhaustive True" in run(folder, "-k", "number_of").stdout
    assert "exhaustive False" in run(folder, "-k", "number_of", "--race-max-schedules", "10").stdout
    refused = run(folder, "--race-max-schedules", "0")
    assert refused.returncode == 4
    assert "--race-max-schedules" in refused.stderr


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("@pytest.mark.parametrize('x', [1])\n@pytest.mark.race\ndef test_it(x): ...", "parametrize has no effect"),
        ("class TestIt:\n    @pytest.mark.race\n    def test_it(self): ...", "not on a method"),
    ],
)
def test_what_the_marker_cannot_do_is_said(tmp_path, code, why):
    (tmp_path / "test_it.py").write_text(f"import pytest\n{code}\n")
    done = run(tmp_path, "--collect-only")
    assert done.returncode == 2
    assert why in done.stdout


def test_nothing_else_is_imported_before_it_is_needed(tmp_path):
    (tmp_path / "test_it.py").write_text("import sys\ndef test_it(): assert 'psycopg' not in sys.modules\n")
    assert run(tmp_path).returncode == 0
