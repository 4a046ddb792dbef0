"""PyMySQL/PyMySQL#425: one connection of the module is used by several threads."""

from plain import connect

from iobound import race

shared = []


def reset(db):
    db.execute("DROP TABLE IF EXISTS hit")
    db.execute("CREATE TABLE hit (id integer)")
    shared.clear()


@race.case(setup=reset)
def hit():
    if not shared:
        shared.append(connect())
    with shared[0].cursor() as cursor:
        cursor.execute("INSERT INTO hit VALUES (1)")
        cursor.execute("SELECT count(*) FROM hit")
    shared[0].commit()


EXPECTED = {hit: {"mariadb off": {"repeatable read": "violated"}}}
