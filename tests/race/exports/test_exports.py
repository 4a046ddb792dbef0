import os
import re
import subprocess
import sys
from contextlib import closing
from xml.etree import ElementTree

import psycopg
import pytest

from iobound import race
from iobound.errors import UsageError
from iobound.lab.service import ServiceOptions, find
from iobound.race import connections, exports, scripted
from iobound.race.anomalies import Step
from iobound.race.locks import observe


def reset(db):
    db.execute("DROP TABLE IF EXISTS voucher, redemption")
    db.execute("CREATE TABLE voucher (id integer PRIMARY KEY, used integer NOT NULL, title text)")
    db.execute("CREATE TABLE redemption (voucher integer NOT NULL)")
    db.execute("INSERT INTO voucher VALUES (1, 0, 'it''s free')")


def redeem(title, lock=""):
    with closing(psycopg.connect(os.environ["DATABASE_URL"])) as connection, connection:
        read = f"SELECT used FROM voucher WHERE title = %s {lock}"
        ((used,),) = connection.execute(read, [title]).fetchall()
        if used < 1:
            connection.execute("UPDATE voucher SET used = %s WHERE title = %s", [used + 1, title])
            connection.execute("INSERT INTO redemption VALUES (1)")


def within_limit(db):
    return db.scalar("SELECT count(*) <= 1 FROM redemption")


@race.case(setup=reset, invariant=within_limit)
def redeem_once():
    redeem("it's free")


def explored(lock):
    report = race.explore(
        redeem,
        sessions=[("it's free", lock)] * 2,
        setup=reset,
        invariant=within_limit,
        isolation=["read committed", "serializable"],
    )
    return report.record


@pytest.fixture(scope="module")
def violated():
    return explored("")


@pytest.fixture(scope="module")
def holds():
    return explored("FOR UPDATE")


def test_the_formats_are_found_by_their_files():
    assert exports.known() == ["elle", "isolation-spec", "junit"]
    with pytest.raises(UsageError, match="did you mean junit"):
        exports.render("junut", None)


def test_junit_has_a_case_for_each_level(violated, holds):
    suite = ElementTree.fromstring(exports.render("junit", violated))
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    failed, passed = suite.findall("testcase")
    assert failed.get("name").endswith("at read committed")
    assert "UPDATE voucher" in failed.find("failure").text
    assert passed.find("failure") is None
    assert ElementTree.fromstring(exports.render("junit", holds)).get("failures") == "0"


def blocks(spec, what):
    """Return the SQL in the braces after each `what`, by its name."""
    return dict(re.findall(rf"^{what} ?(\w*)\s*\{{(.*?)\}}", spec, re.MULTILINE | re.DOTALL))


def test_the_specification_goes_wrong_on_a_server(violated):
    spec = exports.render("isolation-spec", violated)
    steps = blocks(spec, "step")
    order = re.search(r"^permutation (.*)$", spec, re.MULTILINE)[1].split()
    assert sorted(order) == sorted(steps)
    with find("postgresql").start(ServiceOptions()) as service:
        url = service.dataset(0)
        with (
            closing(connections.postgresql(url)) as control,
            closing(observe(url)) as observer,
            closing(scripted.postgresql(url, observer)) as first,
            closing(scripted.postgresql(url, observer)) as second,
        ):
            control.execute(re.search(r"^setup\n\{(.*?)\}", spec, re.MULTILINE | re.DOTALL)[1])
            sessions = {1: first, 2: second}
            played = [Step("AB".index(name[0]) + 1, steps[name]) for name in order]
            assert [event for event in scripted.play(played, sessions) if event.error] == []
            assert control.execute("SELECT count(*) FROM redemption").fetchall() == [(2,)]
            control.execute(blocks(spec, "teardown")[""])
            assert control.execute("SELECT to_regclass('voucher'), to_regclass('redemption')").fetchall() == [(None, None)]


def test_the_history_shows_that_both_wrote_what_both_had_read(violated):
    history = exports.render("elle", violated).splitlines()
    ended = [line for line in history if ":type :ok" in line]
    assert len(ended) == 2
    assert [line.count(":type :invoke") for line in history].count(1) == 2
    register = '"voucher.used where title = it\'s free"'
    for line in ended:
        assert f"[:r {register} 0] [:w {register} 1]" in line
    assert [int(re.search(r":index (\d+)", line)[1]) for line in history] == list(range(len(history)))
    assert {re.search(r":process (\d+)", line)[1] for line in history} == {"0", "1"}


@pytest.mark.parametrize("name", ["elle", "isolation-spec"])
def test_what_shows_a_violation_needs_one(holds, name):
    with pytest.raises(UsageError, match="here none does"):
        exports.render(name, holds)


def test_the_command_writes_what_is_asked_for(tmp_path):
    names = {name: tmp_path / name for name in exports.known()}

    def explore(*asked):
        command = [sys.executable, "-m", "iobound", "race", "explore", f"{__file__}:redeem_once", *asked]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)

    done = explore(*(f"--export={name}={file}" for name, file in names.items()))
    assert done.returncode == 1, done.stderr
    assert all(file.read_text() for file in names.values())
    refused = explore("--export=pdf=x")
    assert refused.returncode == 2
    assert "elle, isolation-spec, junit" in refused.stderr
