# /// script
# requires-python = ">=3.6"
# dependencies = []
#
# [tool.iobound]
# kind = "loader"
# title = "asyncio"
# calls = "async"
# model = "asyncio"
# ///
"""One task a connection, on asyncio's own event loop."""

import asyncio

from feeding import Feeder
from loading import sources
from loading_async import Group
from phases import conduct, read_job

job = read_job()
feeder = Feeder(job)
conduct(job, feeder, Group(job, job["connections"], sources(job, feeder, None), asyncio.new_event_loop()))
