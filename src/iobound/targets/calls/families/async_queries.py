# /// script
# requires-python = ">=3.6"
# dependencies = ["aiopg ; platform_python_implementation == 'CPython'", "uvloop ; platform_python_implementation == 'CPython'"]
#
# [tool.iobound]
# kind = "primitives"
# title = "a query that is awaited"
# loops = ["asyncio", "uvloop"]
# service = "postgresql"
# ///
"""What the primitives are held against: the same query of one row through the same libpq, awaited. Python 3.6 and later."""

import os
from timeit import default_timer as clock

import aiopg

WARM_UP = 10  # queries, that fill what a new connection's process of the server has empty


async def query(times):
    """A query of one row by its key, with aiopg, its columns read."""
    connection = await aiopg.connect(os.environ["DATABASE_URL"])
    await _carry_out(connection, range(WARM_UP))
    taken = await _carry_out(connection, times)
    await connection.close()
    return taken


async def _carry_out(connection, times):
    started = clock()
    for _ in times:
        cursor = await connection.cursor()
        await cursor.execute("SELECT id, name, quantity FROM item WHERE id = %s", (1,))
        await cursor.fetchone()
        cursor.close()
    return clock() - started
