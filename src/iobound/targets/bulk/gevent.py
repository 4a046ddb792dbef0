# /// script
# requires-python = ">=2.7"
# dependencies = ["gevent>=20", "psycogreen>=1"]
#
# [tool.iobound]
# kind = "loader"
# title = "gevent"
# calls = "sync"
# model = "gevent"
# ///
"""One greenlet a connection; psycopg2 waits through psycogreen. Keeps to the syntax of Python 2.7."""

from feeding import Feeder
from phases import conduct, read_job

job = read_job()
feeder = Feeder(job)  # before anything is patched: it is a plain process

from gevent import monkey

monkey.patch_all()

import socket

import gevent
from gevent.lock import Semaphore

try:
    from psycogreen.gevent import patch_psycopg
except ImportError:  # there is no psycopg2 to be patched
    pass
else:
    patch_psycopg()

import driver
from loading import Group, sources


def together(functions):
    """Run each function in a greenlet of its own until all have ended."""
    gevent.joinall([gevent.spawn(function) for function in functions], raise_error=True)


def patched(receiver):
    """Return a socket that lets others run while it waits."""
    return socket.fromfd(receiver.fileno(), socket.AF_UNIX, socket.SOCK_SEQPACKET)


lines = sources(job, feeder, Semaphore(), patched)
conduct(job, feeder, Group(job, driver, job["connections"], lines, together))
