# /// script
# requires-python = ">=3.3"
# dependencies = []
#
# [tool.iobound]
# kind = "primitives"
# title = "yield from"
# ///
"""Generators that delegate and return values: a syntax error before Python 3.3."""

from timeit import default_timer as clock


def _five():
    yield from range(0)
    return 5


def _caught():
    try:
        next(_five())
    except StopIteration as stop:
        return stop.value


def _wrapper():
    return _caught()


def generator_return(times):
    """A wrapped call whose inner function returns by a generator's StopIteration, caught in Python: the slow form of the
    published pair."""
    started = clock()
    for _ in times:
        _wrapper()
    return clock() - started


def yield_from(times):
    """`yield from` a generator that returns at once, the value passed on by the interpreter."""
    return _finish(_delegating(times))


def _delegating(times):
    started = clock()
    for _ in times:
        yield from _five()
    return clock() - started


def _endless():
    while True:
        yield


def _delegated():
    yield from _endless()


def yield_from_step(times):
    """One step of a generator through another that delegates to it by `yield from`."""
    generator = _delegated()
    started = clock()
    for _ in times:
        next(generator)
    return clock() - started


def _finish(generator):
    """Run a generator that never yields and return what it returns."""
    try:
        next(generator)
    except StopIteration as stop:
        return stop.value
