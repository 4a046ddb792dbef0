# /// script
# requires-python = ">=3.9"
# dependencies = ["mysqlclient-static>=2.2"]
#
# [tool.iobound]
# kind = "driver"
# title = "mysqlclient"
# service = "mariadb"
# calls = "sync"
# models = ["threads", "processes"]
# offers = "sql"
# layer = "driver"
# ///
"""mysqlclient (MySQLdb): MariaDB's library in C, text protocol, values written into the statement by the client.

`executemany` joins the rows of an INSERT into few statements. Its library waits where gevent can't switch.
"""

from urllib.parse import unquote, urlsplit

import MySQLdb

PLACEHOLDER = "%s"


def connect(url, autocommit=True):
    at = urlsplit(url)
    raw = MySQLdb.connect(
        host=at.hostname,
        port=at.port or 3306,
        user=unquote(at.username or ""),
        password=unquote(at.password or ""),
        database=at.path[1:],
        charset="utf8mb4",
        autocommit=autocommit,
        ssl_mode="DISABLED",
    )
    return Connection(raw)


class Connection:
    def __init__(self, raw):
        self.raw, self.cursor = raw, raw.cursor()
        self.executemany, self.begin, self.commit = self.cursor.executemany, raw.begin, raw.commit
        self.rollback, self.close, self.fileno = raw.rollback, raw.close, raw.fileno

    def execute(self, sql, parameters=()):
        self.cursor.execute(sql, parameters or None)
        return self.cursor.fetchall()


def ran(connection):
    return {
        "driver": "mysqlclient " + ".".join(map(str, MySQLdb.version_info[:3])),
        "implementation": "C" if MySQLdb._mysql.__file__.endswith(".so") else "Python",
        "library": MySQLdb.get_client_info(),
        "autocommit": str(connection.raw.get_autocommit()),
    }
