# /// script
# requires-python = ">=3.6"
# dependencies = ["sqlalchemy ; platform_python_implementation == 'CPython'"]
#
# [tool.iobound]
# kind = "primitives"
# title = "SQLAlchemy's bridge from calls to coroutines"
# loops = ["asyncio"]
# ///
"""How SQLAlchemy runs its blocking code over asynchronous drivers: a greenlet that is switched away from at each `await`."""

from timeit import default_timer as clock

from sqlalchemy.util.concurrency import await_only, greenlet_spawn


def _nothing():
    return 5


async def _coroutine():
    return 5


async def bridge_spawn(times):
    """`greenlet_spawn` of a function that returns at once, awaited: what each statement costs at least."""
    started = clock()
    for _ in times:
        await greenlet_spawn(_nothing)
    return clock() - started


async def bridge_await(times):
    """`await_only` of a coroutine that returns at once, within the greenlet: two switches."""
    return await greenlet_spawn(_awaiting, times)


def _awaiting(times):
    started = clock()
    for _ in times:
        await_only(_coroutine())
    return clock() - started
