"""OCA/queue#131: a job's state is read, and the job started by another transaction: two runners execute it."""

import os
from contextlib import closing

import psycopg2

from iobound import race


def reset(db):
    db.execute("DROP TABLE IF EXISTS job, execution")
    db.execute("CREATE TABLE job (id integer PRIMARY KEY, state varchar(10) NOT NULL)")
    db.execute("CREATE TABLE execution (id serial PRIMARY KEY, job integer NOT NULL)")
    db.execute("INSERT INTO job VALUES (1, 'enqueued')")


def executed_once(db):
    return db.scalar("SELECT count(*) FROM execution WHERE job = 1") <= 1


@race.case(setup=reset, invariant=executed_once)
def start():
    with closing(psycopg2.connect(os.environ["DATABASE_URL"])) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT state FROM job WHERE id = 1")
        ((state,),) = cursor.fetchall()
        connection.commit()
        if state == "enqueued":
            cursor.execute("UPDATE job SET state = 'started' WHERE id = 1")
            connection.commit()
            cursor.execute("INSERT INTO execution (job) VALUES (1)")
            connection.commit()


@race.case(setup=reset, invariant=executed_once)
def start_guarded():
    with closing(psycopg2.connect(os.environ["DATABASE_URL"])) as connection, connection.cursor() as cursor:
        cursor.execute("UPDATE job SET state = 'started' WHERE id = 1 AND state = 'enqueued'")
        started = cursor.rowcount == 1
        connection.commit()
        if started:
            cursor.execute("INSERT INTO execution (job) VALUES (1)")
            connection.commit()


EXPECTED = {
    start: {"postgresql": {"repeatable read": "violated"}},
    start_guarded: {"postgresql": {"repeatable read": "holds"}},
}
