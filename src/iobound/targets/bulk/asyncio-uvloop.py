# /// script
# requires-python = ">=3.8"
# dependencies = ["uvloop>=0.17"]
#
# [tool.iobound]
# kind = "loader"
# title = "asyncio on uvloop"
# calls = "async"
# model = "asyncio"
# ///
"""One task a connection, on the event loop uvloop."""

import uvloop
from feeding import Feeder
from loading import sources
from loading_async import Group
from phases import conduct, read_job

job = read_job()
feeder = Feeder(job)
conduct(job, feeder, Group(job, job["connections"], sources(job, feeder, None), uvloop.new_event_loop()))
