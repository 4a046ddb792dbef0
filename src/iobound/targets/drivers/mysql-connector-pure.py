# /// script
# requires-python = ">=3.8"
# dependencies = ["mysql-connector-python>=9,<10"]
#
# [tool.iobound]
# kind = "driver"
# title = "mysql-connector-python (Python)"
# service = "mariadb"
# calls = "sync"
# models = ["threads", "gevent", "processes"]
# offers = "sql"
# layer = "driver"
# ///
"""MySQL's own driver all in Python, text protocol, values written into the statement by the client.

`executemany` joins the rows of an INSERT into few statements.
Without autocommit the server begins transactions by itself.
"""

from urllib.parse import unquote, urlsplit

import mysql.connector

PLACEHOLDER = "%s"


def connect(url, autocommit=True):
    at = urlsplit(url)
    raw = mysql.connector.connect(
        host=at.hostname,
        port=at.port or 3306,
        user=unquote(at.username or ""),
        password=unquote(at.password or ""),
        database=at.path[1:],
        charset="utf8mb4",
        autocommit=autocommit,
        collation="utf8mb4_general_ci",  # its default is one that MariaDB doesn't know
        ssl_disabled=True,
        use_pure=True,
    )
    return Connection(raw)


class Connection:
    def __init__(self, raw):
        self.raw, self.cursor = raw, raw.cursor()
        self.executemany, self.begin, self.commit = self.cursor.executemany, raw.start_transaction, raw.commit
        self.rollback, self.close = raw.rollback, raw.close

    def execute(self, sql, parameters=()):
        self.cursor.execute(sql, parameters)
        return self.cursor.fetchall() if self.cursor.description else []

    def fileno(self):
        return self.raw._socket.sock.fileno()


def ran(connection):
    return {
        "driver": "mysql-connector " + mysql.connector.__version__,
        "implementation": "C" if isinstance(connection.raw, getattr(mysql.connector, "CMySQLConnection", ())) else "Python",
        "autocommit": str(connection.raw.autocommit),
    }
