# /// script
# requires-python = ">=3.6"
# dependencies = []
#
# [tool.iobound]
# kind = "loader"
# title = "processes"
# calls = "sync"
# model = "processes"
# ///
"""One process a connection."""

import threading

import driver
from feeding import Feeder
from forking import Forked, shared
from loading import Group
from phases import conduct, read_job

job = read_job()
feeder = Feeder(job)
lines = shared(job, feeder, threading.Lock())


def together(functions):
    """Run the one worker of a process."""
    for function in functions:
        function()


def make():
    """Return the group of one process."""
    return Group(job, driver, 1, lines, together)


conduct(job, feeder, Forked([make] * job["connections"]))
