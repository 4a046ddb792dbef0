"""The programs of ``bulk``: whatever the model, driver and options, all rows are there once, or it is said which aren't."""

import ast
import os
import signal
import threading
import time
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial

import psutil
import psycopg
import pytest

from iobound.lab import drivers, interpreters, loaders, scripts
from iobound.lab.census import data
from iobound.lab.census.tables import Tables
from iobound.lab.environments import environment
from iobound.lab.service import ServiceOptions, find

LINES = 12
CONNECTIONS = 4


class Loading:
    """A database of each service, and programs that load into it."""

    def __init__(self, exits):
        self.exits = exits
        self.tables = {}

    def on(self, service):
        if service not in self.tables:
            if missing := find(service).unavailable():
                pytest.skip(missing)
            running = self.exits.enter_context(find(service).start(ServiceOptions()))
            made = Tables(service, running.scratch("bulk"), data.made(1, LINES).matrices)
            self.tables[service] = self.exits.enter_context(made)
        return self.tables[service]

    @contextmanager
    def program(self, asked, python=None, lines=LINES, url=None, **options):
        loader, driver = loaders.find(asked)
        tables = self.on(driver.service)
        tables.empty()
        load = data.load(data.made(1, lines), lines, report_bad=False)
        job = {
            "url": url or tables.url, "connections": CONNECTIONS, "path": str(load.census.path), "lines": lines, "columns": 222,
            "skip": [], "transaction": "autocommit", "statements": "single", "feeder": "preloaded", "feeder_cpus": [],
        }  # fmt: skip
        built = environment(drivers.ENVIRONMENT, python)
        with scripts.launch(asked, loaders.files(loader, driver), built, {**job, **options}) as script:
            yield script, load

    def load(self, asked, meanwhile=nullcontext, **options):
        """Load and return the lines that were printed, by what they are, and whether the database holds what it should."""
        with self.program(asked, **options) as (script, load), meanwhile():
            lines = list(script.lines(60))
        found = {line.get("phase") or next(iter(line)): line for line in lines}
        tables = self.on(loaders.find(asked)[1].service)
        return found, tables.contents() == load.expected


@pytest.fixture(scope="module")
def loading():
    with ExitStack() as exits:
        yield Loading(exits)


MODELS = [
    *("threads/psycopg2", "threads/psycopg", "gevent/psycopg2", "gevent/psycopg", "asyncio/aiopg", "asyncio/asyncpg"),
    *("asyncio/psycopg", "asyncio-uvloop/asyncpg", "processes/psycopg2", "processes-asyncio/asyncpg"),
    *("threads/pymysql", "threads/mysqlclient", "gevent/pymysql", "asyncio/aiomysql", "asyncio-uvloop/asyncmy"),
]


@pytest.mark.parametrize("asked", MODELS)
def test_every_model_loads_every_row_once(loading, asked):
    said, right = loading.load(asked)
    assert right
    assert sum(said["geo"]["rows"]) == LINES
    assert sum(said["data"]["rows"]) == LINES * 222
    assert len(said["data"]["rows"]) == CONNECTIONS
    assert said["data"]["lost"] == []
    assert said["data"]["empty_s"] == 0
    assert said["data"]["wall_s"] > 0
    assert said["data"]["user_s"] + said["data"]["system_s"] > 0
    assert {"driver", "python", "interpreter"} <= set(said["ready"]["ready"])


@pytest.mark.parametrize(
    ("asked", "feeder"),
    [
        *(("threads/psycopg2", feeder) for feeder in ("streaming", "published")),
        *(("gevent/psycopg2", feeder) for feeder in ("streaming", "published")),
        *(("asyncio/asyncpg", "streaming"), ("asyncio-uvloop/asyncpg", "streaming"), ("asyncio/aiopg", "published")),
    ],
)
def test_lines_may_come_while_they_are_loaded(loading, asked, feeder):
    said, right = loading.load(asked, feeder=feeder)
    assert right
    assert ("window_rows_per_second" in said["data"]) == (feeder == "published")


@pytest.mark.parametrize("asked", ["processes/psycopg2", "processes-asyncio/asyncpg"])
def test_processes_share_a_stream_of_lines(loading, asked):
    assert loading.load(asked, feeder="streaming")[1]


@pytest.mark.parametrize(
    ("asked", "statements", "transaction"),
    [
        *(("threads/psycopg", way, "line") for way in ("single", "executemany", "pipeline", "copy")),
        *(("asyncio/psycopg", way, "autocommit") for way in ("pipeline", "copy")),
        *(("asyncio/asyncpg", "executemany", "line"), ("threads/psycopg2", "copy", "line")),
        *(("threads/pymysql", "executemany", "line"), ("asyncio/asyncmy", "single", "line")),
    ],
)
def test_however_rows_are_sent_and_committed_they_are_there(loading, asked, statements, transaction):
    assert loading.load(asked, statements=statements, transaction=transaction)[1]


def test_what_a_driver_has_not_got_is_said(loading):
    said, _ = loading.load("threads/psycopg2", statements="pipeline")
    assert said["lacks"]["lacks"] == "pipeline"


@pytest.mark.parametrize("asked", ["threads/psycopg2", "asyncio/asyncpg", "processes/psycopg2"])
def test_a_connection_that_is_refused_is_named(loading, asked):
    with (
        find("postgresql").start(ServiceOptions(max_connections=8)) as small,
        Tables("postgresql", small.scratch("bulk"), data.made(1, LINES).matrices) as tables,
    ):
        tables.empty()
        said, _ = loading.load(asked, url=tables.url, connections=12)
    assert "too many" in said["refused"]["refused"]


def test_nothing_waits_for_an_empty_queue_uncounted(loading, tmp_path):
    """A reader that is slow by construction: of a pipe into which a line is written every 150 ms."""
    slow = tmp_path / "slow.uf1"
    os.mkfifo(slow)
    lines = data.made(1, LINES).path.read_text().splitlines(keepends=True)

    def write():
        for _ in range(2):
            with slow.open("w") as pipe:
                for line in lines:
                    time.sleep(0.15)
                    pipe.write(line)
                    pipe.flush()
            time.sleep(0.3)  # until the reader has seen the end

    writer = threading.Thread(target=write)
    writer.start()
    said, right = loading.load("threads/psycopg2", feeder="streaming", path=str(slow))
    writer.join()
    assert right
    idle = said["data"]["empty_s"] / (said["data"]["wall_s"] * CONNECTIONS)
    assert 0.3 < idle < 1


# --- faults ---------------------------------------------------------------------------------------------------------


@contextmanager
def killing(url, at_rows):
    """Kill the connection of a worker that is inserting, once so many values are there."""

    def kill():
        with psycopg.connect(url, autocommit=True, application_name="iobound") as other:
            while other.execute("SELECT count(*) FROM data_element").fetchone()[0] < at_rows:
                time.sleep(0.002)
            killed = 0
            while not killed:
                killed = other.execute(
                    "SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity"
                    " WHERE datname = current_database() AND application_name <> 'iobound'"
                    " AND query LIKE 'INSERT INTO data%' LIMIT 1)"
                ).fetchone()[0]

    thread = threading.Thread(target=kill)
    thread.start()
    yield
    thread.join(30)
    assert not thread.is_alive()


@pytest.mark.parametrize("asked", ["threads/psycopg2", "gevent/psycopg2", "asyncio/asyncpg", "processes/psycopg"])
def test_a_line_whose_connection_is_killed_is_loaded_again_in_its_transaction(loading, asked):
    killed = partial(killing, loading.on("postgresql").url, 222)
    said, right = loading.load(asked, killed, transaction="line", lines=LINES * 4)
    assert right
    assert said["data"]["retried"] == 1
    assert sum(said["data"]["rows"]) == LINES * 4 * 222


@pytest.mark.parametrize("asked", ["threads/psycopg2", "asyncio/psycopg"])
def test_a_line_whose_connection_is_killed_is_reported_where_each_row_commits(loading, asked):
    said, right = loading.load(asked, partial(killing, loading.on("postgresql").url, 100), lines=LINES * 4)
    assert not right
    [lost] = said["data"]["lost"]
    there = loading.on("postgresql").contents().rows
    assert 1 <= lost["line"] <= LINES * 4
    assert lost["error"]
    said_rows = sum(said["data"]["rows"])
    assert said_rows == (LINES * 4 - 1) * 222 + lost["committed"]
    assert said_rows <= there <= said_rows + 1, "of the statement that was under way nobody knows"
    assert said["data"]["retried"] == 0


@pytest.mark.parametrize(
    ("asked", "feeder"),
    [
        *(("threads/psycopg2", "preloaded"), ("asyncio/asyncpg", "streaming"), ("asyncio/aiopg", "published")),
        *(("processes/psycopg2", "preloaded"), ("threads/pymysql", "streaming")),
    ],
)
def test_a_database_that_dies_midway_is_reported_with_what_was_committed(asked, feeder):
    service = loaders.find(asked)[1].service
    if missing := find(service).unavailable():
        pytest.skip(missing)
    with ExitStack() as exits:
        running = exits.enter_context(find(service).start(ServiceOptions()))
        tables = exits.enter_context(Tables(service, running.scratch("bulk"), data.made(1, LINES).matrices))
        tables.empty()
        own = Loading(exits)
        own.tables[service] = tables
        with own.program(asked, lines=LINES * 40, feeder=feeder) as (script, load):
            lines = []
            for line in script.lines(60):
                lines.append(line)
                if line.get("phase") == "geo":
                    time.sleep(0.3)
                    os.kill(running.pids()[0], signal.SIGQUIT if service == "postgresql" else signal.SIGKILL)
    last = lines[-1]
    assert (last["phase"], last["lost"]) == ("data", [])
    assert "and then" in last["gone"]
    assert 0 < sum(last["rows"]) < load.expected.rows


# --- other interpreters, and what doesn't grow ----------------------------------------------------------------------


@pytest.mark.skipif(bool(interpreters.missing("2.7")), reason="needs Python 2.7")
@pytest.mark.parametrize(("asked", "feeder"), [("threads/psycopg2", "streaming"), ("gevent/psycopg2", "preloaded")])
def test_python_2_loads_too(loading, asked, feeder):
    said, right = loading.load(asked, python="2.7", feeder=feeder)
    assert right
    assert said["ready"]["ready"]["python"].startswith("2.7")


def test_a_long_stream_takes_no_more_memory(loading):
    peaks = []
    for lines in (100, 1500):
        with loading.program("threads/psycopg2", lines=lines, feeder="streaming", statements="copy") as (script, load):
            process = psutil.Process(script.pid)
            peak = 0
            for line in script.lines(120):
                if "phase" in line:
                    peak = process.memory_info().rss
        assert loading.on("postgresql").contents() == load.expected
        peaks.append(peak)
    assert peaks[1] < 1.15 * peaks[0]


@pytest.mark.parametrize("path", sorted(loaders.FOLDER.rglob("*.py")), ids=lambda path: path.name)
def test_programs_for_old_interpreters_keep_to_their_syntax(path):
    """Python 3.6 has no walrus, no positional-only parameters; what is for 2.7 has no annotations and no f-strings either."""
    old = "2.7" in path.read_text()
    tree = ast.parse(path.read_text(), feature_version=(3, 6))
    newer = (ast.JoinedStr, ast.AnnAssign, ast.AsyncFunctionDef, ast.Nonlocal, ast.Starred, ast.YieldFrom)
    assert not old or not [node for node in ast.walk(tree) if isinstance(node, newer)]
