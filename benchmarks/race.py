"""How long `iobound race` takes: two sessions of five statements exhaustively, three of four by reduction; and is it right.

.venv/bin/python benchmarks/race.py [postgresql] [mariadb] [sqlite]

Prints a row for each database and function. Where the search was reduced, some of all interleavings, drawn at random, are
carried out, too, and judged. Exits with 1 where one of them goes wrong though none should, or a search takes too long.
"""

from __future__ import annotations

import os
import random
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pymysql

from iobound.race import cases, explorer

DRAWN = 100
LIMITS_S = {2: 3.0, 3: 20.0}
"""Seconds that a search may take, by its number of sessions."""


def reset(db: Any) -> None:
    """Make the counter."""
    db.execute("DROP TABLE IF EXISTS counter")
    db.execute("CREATE TABLE counter (id integer PRIMARY KEY, v integer NOT NULL)")
    db.execute("INSERT INTO counter VALUES (1, 0)")


def nothing_lost(db: Any, execution: Any) -> bool:
    """Tell whether what each call says that it has added is there."""
    return bool(db.scalar("SELECT v FROM counter") == sum(one.returned or 0 for one in execution.outcomes))


@contextmanager
def session() -> Iterator[Callable[[str], Any]]:
    """Give what executes a statement as it is, and returns the first row of a SELECT."""
    url = urlsplit(os.environ["DATABASE_URL"])
    connection: Any
    if url.scheme == "sqlite":
        connection = sqlite3.connect(url.path[1:], isolation_level=None)
    elif url.scheme == "mysql":
        where: dict[str, Any] = {"host": url.hostname, "port": url.port, "user": url.username, "password": url.password}
        connection = pymysql.connect(**where, database=url.path[1:])
    else:
        connection = psycopg.connect(os.environ["DATABASE_URL"], autocommit=True)
    with closing(connection):
        cursor = connection.cursor()

        def execute(sql: str) -> Any:
            cursor.execute(sql)
            return cursor.fetchone() if sql.startswith("SELECT") else None

        yield execute


def read_thrice() -> None:
    """Take five steps, none of which keeps another one out: 252 interleavings of two sessions."""
    with session() as sql:
        sql("BEGIN")
        for _ in range(3):
            sql("SELECT v FROM counter WHERE id = 1")
        sql("COMMIT")


def count(begin: str = "BEGIN", lock: str = "") -> int:
    """Take four steps: 34,650 interleavings of three sessions."""
    with session() as sql:
        sql(begin)
        (value,) = sql(f"SELECT v FROM counter WHERE id = 1{lock}")
        sql(f"UPDATE counter SET v = {value + 1} WHERE id = 1")
        sql("COMMIT")
    return 1


def drawn_violations(case: cases.Case) -> int:
    """Carry out schedules chosen at random; count those that go wrong."""
    chance = random.Random(0)
    with explorer.Exploration(case) as exploration:
        exploration.isolate(None)
        broken = exploration.judge()
        drawn = (exploration.execute(lambda pending: chance.choice(list(pending))) for _ in range(DRAWN))
        return sum(broken(execution) is not None for execution in drawn)


def main() -> int:
    """Print the table."""
    wrong = 0
    for database in sys.argv[1:] or ["postgresql", "mariadb", "sqlite"]:
        locked = ("BEGIN IMMEDIATE", "") if database == "sqlite" else ("BEGIN", " FOR UPDATE")
        for function, sessions in ((read_thrice, [()] * 2), (count, [()] * 3), (count, [locked] * 3)):
            case = cases.combine(function, sessions, setup=reset, invariant=nothing_lost, database=database)
            began = time.perf_counter()
            (level,) = explorer.explore_case(case).levels
            seconds = time.perf_counter() - began
            drawn = drawn_violations(case) if level.reduced else 0
            bad = (level.verdict == "holds" and drawn > 0) or level.seconds > LIMITS_S[len(sessions)]
            wrong += bad
            name = f"{len(sessions)} x {function.__name__}{' locked' * (sessions[0] == locked)}"
            how = f"reduced, {drawn} of {DRAWN} drawn go wrong" if level.reduced else "all"
            print(
                f"{database:<11}{name:<18}{level.verdict:<9}{level.violations:>4}/{level.schedules:<4}{level.seconds:6.2f} s "
                f"({seconds:.2f} s with the server's start)  {how}{'  !' * bad}",
                flush=True,
            )
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
