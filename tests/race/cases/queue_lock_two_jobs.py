"""procrastinate-org/procrastinate#103: SKIP LOCKED gives two workers two jobs of one lock; neither sees the other's run."""

from plain import transaction

from iobound import race

FETCH = """
    SELECT id FROM job WHERE status = 'todo' AND NOT EXISTS (
        SELECT 1 FROM job AS running WHERE running.status = 'doing' AND running.lock_name = job.lock_name)
    ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
"""


def reset(db):
    db.execute("DROP TABLE IF EXISTS job")
    db.execute("CREATE TABLE job (id integer PRIMARY KEY, lock_name varchar(10) NOT NULL, status varchar(10) NOT NULL)")
    db.execute("INSERT INTO job VALUES (1, 'a', 'todo'), (2, 'a', 'todo')")


def one_at_a_time(db):
    return db.scalar("SELECT count(*) <= 1 FROM job WHERE status = 'doing'")


@race.case(setup=reset, invariant=one_at_a_time)
def fetch():
    with transaction() as sql:
        for (job,) in sql(FETCH):
            sql("UPDATE job SET status = 'doing' WHERE id = %s", job)


EXPECTED = {
    fetch: {
        "postgresql": {"read committed": "violated 60/70", "repeatable read": "violated 60/70", "serializable": "holds 70"},
        "mariadb off": {"repeatable read": "violated 60/70"},
    },
}
