# /// script
# requires-python = ">=2.7"
# dependencies = []
#
# [tool.iobound]
# kind = "loader"
# title = "threads"
# calls = "sync"
# model = "threads"
# ///
"""One thread a connection. Keeps to the syntax of Python 2.7."""

import threading

import driver
from feeding import Feeder
from loading import Group, sources
from phases import conduct, read_job


def together(functions):
    """Run each function in a thread of its own until all have ended."""
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


job = read_job()
feeder = Feeder(job)
conduct(job, feeder, Group(job, driver, job["connections"], sources(job, feeder, threading.Lock()), together))
