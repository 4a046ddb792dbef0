"""Round trips that are known by construction, counted on the driver's socket and by the relay."""

from __future__ import annotations

import ast
import importlib.util
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import psycopg
import pymysql
import pytest

import iobound
from iobound.lab.laboratory import Laboratory

HELPER = Path(iobound.__file__).parent / "targets" / "round_trips.py"
RTT_MS = 2.0
STATEMENTS = 4  # psycopg prepares a statement at its fifth time, which is a round trip of its own


@pytest.fixture(scope="module")
def round_trips() -> ModuleType:
    """The helper as a program finds it: by its path."""
    spec = importlib.util.spec_from_file_location("round_trips", HELPER)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def laboratory() -> Iterator[Laboratory]:
    with Laboratory() as running:
        yield running


Counted = Callable[[bool, Callable[[psycopg.Connection], object]], tuple[int, int]]


@pytest.fixture
def counted(laboratory: Laboratory, round_trips: ModuleType) -> Counted:
    """Counts the round trips of a deed on PostgreSQL: on the socket, and by the relay."""
    url = laboratory.service("postgresql").dataset(0)
    relay = laboratory.relay(url, RTT_MS)

    def count(autocommit: bool, deed: Callable[[psycopg.Connection], object]) -> tuple[int, int]:
        with psycopg.connect(relay.url(url), autocommit=autocommit) as connection:
            on_socket, by_relay = round_trips.count(connection.fileno()), relay.turns()
            deed(connection)
            return round_trips.count(connection.fileno()) - on_socket, relay.turns() - by_relay

    return count


def test_a_select_and_commit_takes_three_round_trips(counted: Counted):
    def select_and_commit(connection: psycopg.Connection) -> None:
        for _ in range(STATEMENTS):
            connection.execute("SELECT 1").fetchall()
            connection.commit()

    assert counted(False, select_and_commit) == (3 * STATEMENTS, 3 * STATEMENTS)


def test_with_autocommit_a_select_takes_one(counted: Counted):
    def select(connection: psycopg.Connection) -> None:
        for _ in range(STATEMENTS):
            connection.execute("SELECT 1").fetchall()

    assert counted(True, select) == (STATEMENTS, STATEMENTS)


def test_a_pipeline_takes_one(counted: Counted):
    def pipeline(connection: psycopg.Connection) -> None:
        with connection.pipeline():
            for _ in range(STATEMENTS):
                connection.execute("SELECT 1")

    assert counted(True, pipeline) == (1, 1)


def test_a_large_answer_is_one_round_trip(counted: Counted):
    assert counted(True, lambda connection: connection.execute("SELECT repeat('x', 1000000)").fetchall()) == (1, 1)


def test_mariadb_too(laboratory: Laboratory, round_trips: ModuleType):
    url = laboratory.service("mariadb").dataset(0)
    relay = laboratory.relay(url, RTT_MS)
    connection = _mysql(relay.url(url))
    with connection, connection.cursor() as cursor:
        fd = connection._sock.fileno()
        on_socket, by_relay = round_trips.count(fd), relay.turns()
        for _ in range(STATEMENTS):
            cursor.execute("SELECT 1")
            connection.commit()
        assert round_trips.count(fd) - on_socket == relay.turns() - by_relay == 2 * STATEMENTS


def _mysql(url: str) -> pymysql.Connection:
    from urllib.parse import unquote, urlsplit

    parts = urlsplit(url)
    return pymysql.connect(
        host=parts.hostname,
        port=parts.port or 0,
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        database=parts.path[1:],
    )


def test_a_socket_that_is_not_tcp_has_no_count(round_trips: ModuleType):
    left, right = socket.socketpair()
    with left, right:
        assert round_trips.count(left.fileno()) is None
    assert round_trips.count(None) is None


def test_programs_of_old_interpreters_can_use_it():
    tree = ast.parse(HELPER.read_text(), feature_version=(3, 6))
    names = [name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names]
    assert names == ["socket", "struct"]
    assert not any(isinstance(node, ast.JoinedStr | ast.AnnAssign | ast.NamedExpr) for node in ast.walk(tree))
