# /// script
# requires-python = ">=2.7"
# dependencies = [
#     "psycopg2-binary ; platform_python_implementation == 'CPython'",
#     "psycopg2-binary < 2.9.6 ; python_version < '3.7'",
# ]
#
# [tool.iobound]
# kind = "primitives"
# title = "a query that blocks"
# service = "postgresql"
# ///
"""What the primitives are held against: a query of one row, 2.7 included."""

import os
from timeit import default_timer as clock

import psycopg2

WARM_UP = 10  # queries, that fill what a new connection's process of the server has empty


def query(times):
    """A query of one row by its key, with psycopg2 in autocommit, its columns read."""
    connection = psycopg2.connect(os.environ["DATABASE_URL"])
    connection.autocommit = True
    _carry_out(connection, range(WARM_UP))
    taken = _carry_out(connection, times)
    connection.close()
    return taken


def _carry_out(connection, times):
    started = clock()
    for _ in times:
        cursor = connection.cursor()
        cursor.execute("SELECT id, name, quantity FROM item WHERE id = %s", (1,))
        cursor.fetchone()
        cursor.close()
    return clock() - started
