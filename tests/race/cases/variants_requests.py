"""Several statements in one request: what others do between them can't be tried, so that nothing is said to hold."""

import os
from contextlib import closing

import psycopg
from counter import nothing_lost, reset

from iobound import race

SKEWED = """
    CREATE OR REPLACE PROCEDURE bump() LANGUAGE plpgsql AS $$
    DECLARE seen integer;
    BEGIN
        SELECT v INTO seen FROM counter WHERE id = 1;
        COMMIT;
        UPDATE counter SET v = seen + 1 WHERE id = 1;
    END $$
"""


def reset_with_procedure(db):
    reset(db)
    db.execute(SKEWED)


def execute(sql):
    with closing(psycopg.connect(os.environ["DATABASE_URL"], autocommit=True)) as connection:
        connection.execute(sql)


@race.case(setup=reset, invariant=nothing_lost)
def one_request():
    execute("CREATE TEMP TABLE seen AS SELECT v FROM counter; UPDATE counter SET v = seen.v + 1 FROM seen; DROP TABLE seen")


@race.case(setup=reset_with_procedure, invariant=nothing_lost)
def procedure_that_commits():
    execute("CALL bump()")


@race.case(setup=reset, invariant=nothing_lost)
def one_statement_between_begin_and_commit():
    execute("BEGIN; UPDATE counter SET v = v + 1 WHERE id = 1; COMMIT")


EXPECTED = {
    one_request: {"postgresql": {"read committed": "incomplete"}},
    procedure_that_commits: {"postgresql": {"read committed": "incomplete"}},
    one_statement_between_begin_and_commit: {"postgresql": {"read committed": "holds"}},
}
