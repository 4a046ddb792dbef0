# /// script
# requires-python = ">=2.7"
# dependencies = ["greenlet ; platform_python_implementation == 'CPython'"]
#
# [tool.iobound]
# kind = "primitives"
# title = "greenlets"
# ///
"""Switches without an `await`, 2.7 included. PyPy brings its own greenlets."""

from timeit import default_timer as clock

import greenlet


def greenlet_switch(times):
    """A switch from one greenlet to another: half of the way there and back."""
    here = greenlet.getcurrent()

    def answer():
        while True:
            here.switch()

    other = greenlet.greenlet(answer)
    other.switch()
    started = clock()
    for _ in times:
        other.switch()
    return (clock() - started) / 2
