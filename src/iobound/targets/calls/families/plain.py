# /// script
# requires-python = ">=2.7"
# dependencies = []
#
# [tool.iobound]
# kind = "primitives"
# title = "calls, generators and the selector"
# ///
"""What any Python does, 2.7 included."""

import select
import socket
from timeit import default_timer as clock


def _nothing():
    return 5


def call(times):
    """A call of a Python function that returns a constant."""
    started = clock()
    for _ in times:
        _nothing()
    return clock() - started


def _wrapper():
    return _nothing()


def wrapped_call(times):
    """A call of a Python function that calls another and returns what that returned: the plain form of the published pair."""
    started = clock()
    for _ in times:
        _wrapper()
    return clock() - started


def _empty_generator():
    return
    yield


def _caught():
    try:
        next(_empty_generator())
    except StopIteration:
        return 5


def _catching_wrapper():
    return _caught()


def generator_stopiteration(times):
    """A wrapped call whose inner function starts a generator, which ends at once, and catches its StopIteration in Python: the
    slow form of the published pair, without a value."""
    started = clock()
    for _ in times:
        _catching_wrapper()
    return clock() - started


def _endless():
    while True:
        yield


def generator_step(times):
    """One step of a generator that runs already: resumed until its next `yield`."""
    generator = _endless()
    started = clock()
    for _ in times:
        next(generator)
    return clock() - started


def selector_poll(times):
    """A poll of an epoll object with one idle socket, without waiting: what each turn of an event loop asks the kernel."""
    near, far = socket.socketpair()
    poll = select.epoll()
    poll.register(near.fileno(), select.EPOLLIN)
    started = clock()
    for _ in times:
        poll.poll(0)
    taken = clock() - started
    poll.close()
    near.close()
    far.close()
    return taken
