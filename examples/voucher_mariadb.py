"""The voucher through PyMySQL: ``iobound race explore examples/voucher_mariadb.py:redeem``."""

import os
from urllib.parse import urlsplit

import pymysql

from iobound import race

SETUP = """
    DROP TABLE IF EXISTS redemption, voucher;
    CREATE TABLE voucher (code varchar(20) PRIMARY KEY, used integer NOT NULL, max_uses integer NOT NULL);
    CREATE TABLE redemption (id integer AUTO_INCREMENT PRIMARY KEY, code varchar(20) NOT NULL, customer integer NOT NULL);
    INSERT INTO voucher VALUES ('code-1', 0, 1);
"""


@race.case(
    sessions=[("code-1", 7), ("code-1", 8)],
    database="mariadb",
    setup=SETUP,
    invariant=lambda db: db.scalar("SELECT count(*) <= 1 FROM redemption"),
)
def redeem(code: str, customer: int) -> bool:
    """Redeem a voucher that has uses left."""
    url = urlsplit(os.environ["DATABASE_URL"])
    with pymysql.connect(
        host=url.hostname, port=url.port, user=url.username, password=url.password or "", database=url.path[1:]
    ) as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT used, max_uses FROM voucher WHERE code = %s", [code])
        used, max_uses = cursor.fetchone()
        if used >= max_uses:
            return False
        cursor.execute("UPDATE voucher SET used = used + 1 WHERE code = %s", [code])
        cursor.execute("INSERT INTO redemption (code, customer) VALUES (%s, %s)", [code, customer])
        connection.commit()
    return True
