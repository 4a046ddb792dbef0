# /// script
# requires-python = ">=3.6"
# dependencies = []
#
# [tool.iobound]
# kind = "loader"
# title = "processes with asyncio in each"
# calls = "async"
# model = "processes"
# ///
"""Two processes, or one for each core where there are more, with an event loop in each and a task for each connection."""

import asyncio
import os
from functools import partial

from feeding import Feeder
from forking import Forked, shared
from loading_async import Group
from phases import conduct, read_job

job = read_job()
feeder = Feeder(job)
lines = shared(job, feeder, None)
processes = min(job["connections"], max(2, len(os.sched_getaffinity(0))))


def make(connections):
    """Return the group of one process."""
    return Group(job, connections, lines, asyncio.new_event_loop())


shares = [job["connections"] // processes + (number < job["connections"] % processes) for number in range(processes)]
conduct(job, feeder, Forked([partial(make, share) for share in shares]))
