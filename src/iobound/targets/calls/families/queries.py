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


def query(times):
    """A query of one row by its key, with psycopg2 in autocommit, its columns read."""
    connection = psycopg2.connect(os.environ["DATABASE_URL"])
    connection.autocommit = True
    started = clock()
    for _ in times:
        cursor = connection.cursor()
        cursor.execute("SELECT id, name, quantity FROM item WHERE id = %s", (1,))
        cursor.fetchone()
        cursor.close()
    taken = clock() - started
    connection.close()
    return taken
