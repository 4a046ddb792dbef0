"""The voucher in SQLite: ``iobound race explore examples/voucher_sqlite.py:redeem``."""

import os
import sqlite3
from contextlib import closing

from iobound import race

SETUP = """
    DROP TABLE IF EXISTS redemption;
    DROP TABLE IF EXISTS voucher;
    CREATE TABLE voucher (code text PRIMARY KEY, used integer NOT NULL, max_uses integer NOT NULL);
    CREATE TABLE redemption (id integer PRIMARY KEY, code text NOT NULL, customer integer NOT NULL);
    INSERT INTO voucher VALUES ('code-1', 0, 1);
"""


@race.case(
    sessions=[("code-1", 7), ("code-1", 8)],
    database="sqlite",
    setup=SETUP,
    invariant=lambda db: db.scalar("SELECT count(*) <= 1 FROM redemption"),
)
def redeem(code: str, customer: int) -> bool:
    """Redeem a voucher that has uses left."""
    path = os.environ["DATABASE_URL"].removeprefix("sqlite://")
    with closing(sqlite3.connect(path)) as connection, connection:
        used, max_uses = connection.execute("SELECT used, max_uses FROM voucher WHERE code = ?", [code]).fetchone()
        if used >= max_uses:
            return False
        connection.execute("UPDATE voucher SET used = used + 1 WHERE code = ?", [code])
        connection.execute("INSERT INTO redemption (code, customer) VALUES (?, ?)", [code, customer])
    return True
