"""What the cases are written with: a transaction on the database of DATABASE_URL, by the plain driver of its kind."""

import os
import sqlite3
from contextlib import closing, contextmanager
from urllib.parse import unquote, urlsplit

import psycopg
import pymysql


def connect():
    """Connect with psycopg 3, PyMySQL or sqlite3."""
    url = os.environ["DATABASE_URL"]
    parts = urlsplit(url)
    if parts.scheme == "postgresql":
        return psycopg.connect(url)
    if parts.scheme == "sqlite":
        return sqlite3.connect(unquote(parts.path)[1:] if parts.path.startswith("//") else parts.path, isolation_level=None)
    where = {"host": parts.hostname, "port": parts.port, "user": parts.username, "password": parts.password}
    return pymysql.connect(**where, database=parts.path[1:])


@contextmanager
def transaction(begin="BEGIN"):
    """Give a function that executes a statement and returns its rows; commit at the end, after an error only disconnect."""
    with closing(connect()) as connection:
        if isinstance(connection, psycopg.Connection):
            connection.autocommit = True  # so that BEGIN is ours

        def sql(statement, *parameters):
            if isinstance(connection, sqlite3.Connection):
                statement = statement.replace("%s", "?").replace(" FOR UPDATE", "")
            cursor = connection.cursor()
            cursor.execute(statement, parameters)
            return cursor.fetchall() if cursor.description else cursor.rowcount

        sql(begin)
        yield sql
        sql("COMMIT")
