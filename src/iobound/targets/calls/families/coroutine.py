# /// script
# requires-python = ">=3.4,<3.11"
# dependencies = []
#
# [tool.iobound]
# kind = "primitives"
# title = "@asyncio.coroutine"
# loops = ["asyncio"]
# ///
"""Coroutines as they were made by a decorator, until Python 3.10."""

import asyncio
from timeit import default_timer as clock


@asyncio.coroutine
def _generator():
    yield from ()
    return 5


@asyncio.coroutine
def _function():
    return 5


@asyncio.coroutine
def legacy_coroutine(times):
    """`yield from` a generator under `@asyncio.coroutine` that returns at once."""
    started = clock()
    for _ in times:
        yield from _generator()
    return clock() - started


@asyncio.coroutine
def legacy_function(times):
    """`yield from` a function without a `yield` under `@asyncio.coroutine`, which wraps it in a generator."""
    started = clock()
    for _ in times:
        yield from _function()
    return clock() - started
