"""A voucher that two customers redeem at once: ``iobound race explore examples/voucher.py:redeem`` shows how it goes wrong."""

import os

import psycopg

from iobound import race

SETUP = """
    DROP TABLE IF EXISTS redemption, voucher;
    CREATE TABLE voucher (code text PRIMARY KEY, used integer NOT NULL, max_uses integer NOT NULL);
    CREATE TABLE redemption (id serial PRIMARY KEY, code text NOT NULL, customer integer NOT NULL);
    INSERT INTO voucher VALUES ('code-1', 0, 1);
"""


@race.case(
    sessions=[("code-1", 7), ("code-1", 8)],
    setup=SETUP,
    invariant=lambda db: db.scalar("SELECT count(*) <= 1 FROM redemption"),
)
def redeem(code: str, customer: int) -> bool:
    """Redeem a voucher that has uses left."""
    with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
        used, max_uses = connection.execute("SELECT used, max_uses FROM voucher WHERE code = %s", [code]).fetchone()
        if used >= max_uses:
            return False
        connection.execute("UPDATE voucher SET used = used + 1 WHERE code = %s", [code])
        connection.execute("INSERT INTO redemption (code, customer) VALUES (%s, %s)", [code, customer])
    return True
