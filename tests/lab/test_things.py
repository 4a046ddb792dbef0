"""The tables of single statements, made on each service."""

from collections.abc import Iterator

import psycopg
import pymysql
import pytest
import redis

from iobound.errors import Unavailable
from iobound.lab import things, urls
from iobound.lab.laboratory import Laboratory


@pytest.fixture(scope="module")
def laboratory() -> Iterator[Laboratory]:
    with Laboratory() as shared:
        yield shared


ROWS = things.things(7)
THERE = ROWS[4:]


@pytest.mark.parametrize("service", ["postgresql", "mariadb", "sqlite", "valkey"])
def test_each_table_has_its_rows_and_is_made_anew(laboratory: Laboratory, service: str):
    try:
        made = laboratory.service(service)
    except Unavailable as error:
        pytest.skip(str(error))
    for _ in range(2):
        url = things.make(made, "test", THERE, ROWS)
    assert sorted(rows(url, "things")) == [tuple(row) for row in THERE]
    assert sorted(rows(url, "points")) == [tuple(row) for row in ROWS]
    assert sorted(rows(url, "wide")) == [tuple(row) for row in things.wides()]


def rows(url: str, table: str) -> list[tuple[object, ...]]:
    if url.startswith("sqlite"):
        import sqlite3

        return sqlite3.connect(f"/{urls.database(url)}").execute(f"SELECT * FROM test_{table}").fetchall()
    if url.startswith("postgresql"):
        with psycopg.connect(url) as connection:
            return connection.execute(f"SELECT * FROM test_{table}".encode()).fetchall()
    if url.startswith("mysql"):
        from urllib.parse import urlsplit

        at = urlsplit(url)
        connection = pymysql.connect(
            host=at.hostname, port=at.port or 0, user=at.username, password=at.password or "", database=urls.database(url)
        )
        with connection, connection.cursor() as cursor:
            cursor.execute(f"SELECT * FROM test_{table}")
            return [tuple(row) for row in cursor.fetchall()]
    return [row_of(url, key) for key in redis.Redis.from_url(url, decode_responses=True).keys(f"iobound:test_{table}:*")]


def row_of(url: str, key: str) -> tuple[object, ...]:
    """A hash knows only text: its values are of the kind that their names begin with."""
    kinds = {"x": int, "i": int, "y": str, "s": str, "z": float, "f": float}
    found = redis.Redis.from_url(url, decode_responses=True).hgetall(key)
    return tuple(kinds[name[0]](value) for name, value in found.items())


def test_a_wide_row_has_31_columns_of_three_kinds():
    assert {len(row) for row in things.wides()} == {31}
    assert {type(value) for value in things.wides()[0]} == {int, str, float}
