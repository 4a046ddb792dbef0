"""Workers that block: the same for threads, for processes, and for greenlets in the place of threads."""

from __future__ import annotations

import json
import os
import platform
import sys
import threading
import time
import traceback

import driver
from ledger import Ledger, work
from strategies import Bank


def say(line):
    """Print a line of JSON."""
    print(json.dumps(line), flush=True)


def perform(steps, connection, lock):
    """Carry out steps one by one; return what they come to."""
    answer = error = None
    try:
        while True:
            name, *arguments = steps.throw(error) if error else steps.send(answer)
            try:
                of = lock if name in ("acquire", "release") else connection
                answer, error = getattr(of, name)(*arguments), None
            except Exception as raised:
                error = raised
    except StopIteration as end:
        return end.value


class Session:
    """A connection that is set up, with the `labels` that say how."""

    def __init__(self, job):
        self.connection = driver.connect(job["url"])
        self.bank = Bank(job["service"], driver.PLACEHOLDER, job["pause_s"])
        settings = perform(self.bank.settings(job), self.connection, None)
        self.labels = {"python": platform.python_version(), **driver.ran(self.connection), **settings}


class Worker:
    """A worker with a session of its own, or one that it shares with the others."""

    def __init__(self, job, number, board, lock, shared=None):
        self.job = job
        self.ledger = Ledger(number, board)
        self.lock = lock
        self.session = shared
        self.failure = None

    def run(self, barrier):
        """Connect, wait for the others, then transfer; what goes wrong outside of transfers is kept as `failure`."""
        try:
            self.session = self.session or Session(self.job)  # made here, for SQLite's connections belong to a thread
            barrier.wait()
            perform(work(self.session.bank, self.ledger, self.job), self.session.connection, self.lock)
        except threading.BrokenBarrierError:
            pass  # another one failed
        except Exception:
            self.failure = traceback.format_exc()
            barrier.abort()


def main():
    """Run the workers as threads of this process, with a lock that is common to them."""
    job = json.load(sys.stdin)
    board = [0] * job["workers"]
    lock, barrier = threading.Lock(), threading.Barrier(job["workers"])
    shared = Session(job) if job["strategy"] == "shared-connection" else None
    workers = [Worker(job, number, board, lock, shared) for number in range(job["workers"])]
    threads = [threading.Thread(target=worker.run, args=(barrier,), daemon=True) for worker in workers]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + job["patience_s"]
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    failures = [worker.failure for worker in workers if worker.failure]
    if failures:
        sys.exit(failures[0])
    say({"ran": workers[0].session.labels})
    for worker in workers:
        say(worker.ledger.report())
    os._exit(0)  # nothing that hangs in a connection is waited for
