"""The table that the variants count in: what each successful call adds must be there."""


def reset(db):
    db.execute("DROP TABLE IF EXISTS counter")
    db.execute("CREATE TABLE counter (id integer PRIMARY KEY, v integer NOT NULL)")
    db.execute("INSERT INTO counter VALUES (1, 0)")


def nothing_lost(db, execution):
    """Tell whether the counter is the number of calls that ended well."""
    return db.scalar("SELECT v FROM counter WHERE id = 1") == sum(one.ending == "committed" for one in execution.outcomes)
