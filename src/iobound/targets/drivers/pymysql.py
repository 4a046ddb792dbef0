# /// script
# requires-python = ">=2.7"
# dependencies = ["pymysql>=0.10"]
#
# [tool.iobound]
# kind = "driver"
# title = "PyMySQL"
# service = "mariadb"
# calls = "sync"
# models = ["threads", "gevent", "processes"]
# offers = "sql"
# layer = "driver"
# ///
"""PyMySQL, all in Python, text protocol, values written into the statement by the client.

`executemany` joins the rows of an INSERT into few statements. Without autocommit the server begins transactions by itself.
"""

import pymysql

try:
    from urllib.parse import unquote, urlsplit
except ImportError:
    from urllib import unquote

    from urlparse import urlsplit

PLACEHOLDER = "%s"


def connect(url, autocommit=True):
    at = urlsplit(url)
    raw = pymysql.connect(
        host=at.hostname,
        port=at.port or 3306,
        user=unquote(at.username or ""),
        password=unquote(at.password or ""),
        database=at.path[1:],
        charset="utf8mb4",
        autocommit=autocommit,
    )
    return Connection(raw)


class Connection:
    def __init__(self, raw):
        self.raw, self.cursor = raw, raw.cursor()
        self.executemany, self.begin, self.commit = self.cursor.executemany, raw.begin, raw.commit
        self.rollback, self.close = raw.rollback, raw.close

    def execute(self, sql, parameters=()):
        self.cursor.execute(sql, parameters or None)
        return self.cursor.fetchall()

    def fileno(self):
        return self.raw._sock.fileno()


def ran(connection):
    return {
        "driver": "PyMySQL " + pymysql.__version__,
        "implementation": "Python" if pymysql.connections.__file__.endswith((".py", ".pyc")) else "C",
        "autocommit": str(bool(connection.raw.get_autocommit())),
    }
