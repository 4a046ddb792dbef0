"""One launch of ``bulk`` as it is measured: what it took by whom, and that a launch that loaded anything else has no sample."""

import os
import signal
import threading
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace

import psycopg
import pytest

from iobound.errors import BadAnswer, LabError, Unavailable, UsageError
from iobound.experiments.bulk import plan
from iobound.lab import interpreters
from iobound.lab.census.data import Contents
from iobound.lab.laboratory import Laboratory
from iobound.lab.probes import cpu
from iobound.lab.service import ServiceOptions, find
from iobound.measure.rounds import Turn
from iobound.measure.scripts import bulk
from iobound.planning import Choice

TURN = Turn(launch=0, control=False, seed=5, quick=True)
CHOICE = Choice(quick=True, first_available=lambda names: names[0], lines=10, models=["threads/psycopg2"], connections=[3])


def cell(**choice):
    [rounds] = plan(replace(CHOICE, **choice)).scripts
    return rounds.cells[0]


@pytest.mark.parametrize("service", ["postgresql", "mariadb"])
def test_a_launch_says_what_each_phase_took_and_by_whom(laboratory, service):
    if missing := find(service).unavailable():
        pytest.skip(missing)
    sample = bulk.measure(cell(models=["threads/psycopg2" if service == "postgresql" else "threads/pymysql"]), TURN, laboratory)
    geo, data = sample.phases
    assert (geo.phase, geo.rows, data.phase, data.rows) == ("geo", 10, "data", 2220)
    assert data.rows_least + data.rows_most <= 2220
    assert data.wall_s > 0
    assert data.user_s + data.system_s > 0
    assert data.database_s > 0
    assert (data.empty_s, data.retried, sample.processes, sample.bad_lines) == (0, 0, 1, [])
    assert sample.ran["driver"]
    assert sample.noise.foreign >= 0


def test_sessions_are_seen_while_a_phase_lasts(laboratory):
    _, data = bulk.measure(cell(lines=60), TURN, laboratory).phases
    assert data.waits is not None
    assert sum(data.waits.values()) == pytest.approx(3, abs=1)


def test_the_database_s_cpu_is_all_that_its_sessions_used(laboratory):
    """Hold it against what the server's processes used from before to after, of which some is connecting and adding up."""
    server = laboratory.service("postgresql").pids()
    before = cpu.read(server)
    sample = bulk.measure(cell(lines=200, statements=["copy"], models=["asyncio/psycopg"]), TURN, laboratory)
    whole = sum(cpu.read(server).since(before))
    assert whole * 0.3 < sum(phase.database_s for phase in sample.phases) <= whole


def test_a_round_trip_time_slows_every_statement_down(laboratory):
    rtt_ms, lines = 2.0, 2
    away = bulk.measure(cell(rtt=[rtt_ms], lines=lines, connections=[1]), TURN, laboratory)
    _, data = away.phases
    assert data.wall_s >= 224 * lines * rtt_ms / 1e3
    assert data.round_trips == 224 * lines
    assert data.relay_s > 0


@pytest.mark.skipif("pypy3" not in interpreters.common(), reason="no PyPy here")
def test_drivers_that_are_python_throughout_load_on_pypy(laboratory):
    sample = bulk.measure(cell(models=["threads/pg8000"], python=["pypy3"]), TURN, laboratory)
    assert "pypy" in str(sample.ran).lower()
    for model, why in (("threads/psycopg2", "psycopg2 has no lock for pypy"), ("gevent/pg8000", "gevent and psycogreen: no")):
        refused = cell(models=[model], python=["pypy3"])
        assert bulk.environments(refused) == []
        with pytest.raises(Unavailable, match=why):
            bulk.measure(refused, TURN, laboratory)


def test_what_is_not_there_as_it_should_be_has_no_sample():
    right = Contents(2, 11, 4, 22)
    said = {"geo": 2, "data": 4}
    bulk.check(right, right, said)
    for found, message in (
        (replace(right, rows=3), "data_element holds 3 rows; 4 were to be loaded, 4 were said to be committed"),
        (replace(right, rows=5), "data_element holds 5 rows"),
        (replace(right, digest=23), "data_element holds 4 rows as it should, and not the values"),
        (replace(right, geo_rows=1), "geo_record holds 1 rows"),
        (replace(right, geo_digest=1), "geo_record holds 2 rows as it should, and not the values"),
    ):
        with pytest.raises(BadAnswer, match=message):
            bulk.check(right, found, said)
    with pytest.raises(BadAnswer, match="4 were to be loaded, 3 were said"):
        bulk.check(right, right, {"geo": 2, "data": 3})


def tables_of(laboratory):
    """Return the tables, which must have been made by a launch before."""
    return laboratory.once("bulk on postgresql", lambda: None)


@contextmanager
def meanwhile(laboratory, do):
    """Empty the tables, and do something in a thread once the first values of the next load are there."""
    tables_of(laboratory).empty()
    ended = threading.Event()

    def watch():
        with psycopg.connect(tables_of(laboratory).url, autocommit=True, application_name="iobound") as other:
            while not ended.wait(0.005):
                with suppress(psycopg.errors.UndefinedTable):
                    if other.execute("SELECT count(*) FROM data_element").fetchone()[0] > 50:
                        do(other)
                        break

    thread = threading.Thread(target=watch)
    thread.start()
    yield
    ended.set()
    thread.join()


def kill_a_worker(other):
    while not other.execute(
        "SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity WHERE"
        " datname = current_database() AND application_name <> 'iobound' AND query LIKE 'INSERT INTO data%' LIMIT 1)"
    ).fetchone()[0]:
        pass


def test_a_killed_connection_fails_the_launch_and_says_which_line_unless_lines_are_transactions(laboratory):
    bulk.measure(cell(), TURN, laboratory)  # so that there are tables to watch
    with (
        meanwhile(laboratory, kill_a_worker),
        pytest.raises(
            BadAnswer, match=r"1 lines weren't loaded in phase data: line \d+, of which \d+ rows .*--transaction line"
        ),
    ):
        bulk.measure(cell(lines=60), TURN, laboratory)
    with meanwhile(laboratory, kill_a_worker):
        sample = bulk.measure(cell(lines=60, transaction=["line"]), TURN, laboratory)
    assert sample.phases[1].retried == 1


def test_what_another_writes_meanwhile_has_no_sample(laboratory):
    bulk.measure(cell(), TURN, laboratory)
    change = "UPDATE data_element SET value = value + 1 WHERE id = (SELECT min(id) FROM data_element)"
    with (
        meanwhile(laboratory, lambda other: other.execute(change)),
        pytest.raises(BadAnswer, match="rows as it should, and not the values"),
    ):
        bulk.measure(cell(lines=60), TURN, laboratory)


def test_a_database_that_dies_is_told_and_nothing_is_counted():
    with Laboratory() as laboratory:
        bulk.measure(cell(), TURN, laboratory)
        pid = laboratory.service("postgresql").pids()[0]
        with (
            meanwhile(laboratory, lambda other: os.kill(pid, signal.SIGQUIT)),
            pytest.raises(LabError, match=r"(went away in phase data, after [\d,]+ rows were committed.*nothing.*is counted)"),
        ):
            bulk.measure(cell(lines=200), TURN, laboratory)
        with pytest.raises(LabError, match="postgresql died while it was measured on"):
            laboratory.check()


def test_more_connections_than_the_server_allows_are_refused_naming_its_setting():
    with ExitStack() as exits:
        server = exits.enter_context(find("postgresql").start(ServiceOptions(max_connections=12)))
        laboratory = exits.enter_context(Laboratory(urls={"postgresql": server.scratch("x")}))
        with pytest.raises(Unavailable, match=r"20 connections, .* than postgresql allows: its setting max_connections is 12"):
            bulk.measure(cell(connections=[20]), TURN, laboratory)
        others = [exits.enter_context(psycopg.connect(server.scratch("x"))) for _ in range(1)]
        others += [exits.enter_context(psycopg.connect(laboratory.service("postgresql").scratch("y"))) for _ in range(3)]
        with pytest.raises(LabError, match=r"postgresql refused connection \d: .*too many.* max_connections"):
            bulk.measure(cell(connections=[8]), TURN, laboratory)


@pytest.mark.skipif(bool(interpreters.missing("2.7")), reason="needs Python 2.7")
def test_what_cannot_be_had_on_an_interpreter_is_said_by_name(laboratory):
    with pytest.raises(Unavailable, match=r"asyncpg needs Python >=3\.7; 2\.7 is 2\.7"):
        bulk.measure(cell(models=["asyncio/asyncpg"], python=["2.7"]), TURN, laboratory)
    with pytest.raises(Unavailable, match=r"processes needs Python >=3\.6, not 2\.7"):
        bulk.measure(cell(models=["processes/psycopg2"], python=["2.7"]), TURN, laboratory)
    with pytest.raises(Unavailable, match="psycopg2 has no pipeline; leave it out of --statements"):
        bulk.measure(cell(statements=["pipeline"]), TURN, laboratory)


def test_bad_lines_are_left_out_and_told(laboratory, tmp_path):
    folder = tmp_path
    (folder / "dictionary.json").write_text(
        '[{"code": "A", "name": "A", "universe": "", "elements": [{"name": "one"}, {"name": "two"}]}]'
    )
    (folder / "segments.json").write_text('[{"segment": "01", "starting_matrix": "A", "ending_matrix": "A"}]')
    lines = [f"u,NY,0,01,{number},{number},2\n" for number in range(1, 7)]
    lines[2] = "u,NY,0,01,3,x,2\n"
    (folder / "x.uf1").write_text("".join(lines))
    with Laboratory() as own:
        with pytest.raises(UsageError, match=r"line 3: column 6 is 'x'"):
            cell(data=folder, lines=5)
        sample = bulk.measure(cell(data=folder, lines=5, bad_lines="report"), TURN, own)
    assert sample.phases[1].rows == 10
    assert sample.bad_lines == ["line 3: column 6 is 'x', no number of up to 18 digits and 6 decimals"]
