"""The workers of a transfer are processes, each with a connection and a lock of its own."""

from __future__ import annotations

import json
import multiprocessing
import sys
import threading
import time
from multiprocessing.connection import wait

from blocking import Worker, say


def run(number, job, board, barrier, report):
    """Work in a process."""
    worker = Worker(job, number, board, threading.Lock())
    worker.run(barrier)
    labels = worker.session.labels if worker.session else {}
    report.send((worker.failure, labels, worker.ledger.report()))


def main():
    """Run the workers, each of which tells what it did at its end."""
    job = json.load(sys.stdin)
    context = multiprocessing.get_context("fork")
    board, barrier = context.RawArray("Q", job["workers"]), context.Barrier(job["workers"])
    running = {}
    for number in range(job["workers"]):
        reading, writing = context.Pipe(duplex=False)
        process = context.Process(target=run, args=(number, job, board, barrier, writing), daemon=True)
        process.start()
        writing.close()  # here, so that its end is seen when the worker ends
        running[reading] = (number, process)
    reports = {}
    deadline = time.monotonic() + job["patience_s"]
    while running:
        ready = wait(running, deadline - time.monotonic())
        if not ready:
            sys.exit(f"workers {sorted(number for number, _ in running.values())} hang")
        for reading in ready:
            number, process = running.pop(reading)
            try:
                failure, labels, reports[number] = reading.recv()
            except EOFError:
                process.join()
                sys.exit(f"worker {number} ended with {process.exitcode} before it told what it had transferred")
            if failure:
                sys.exit(failure)
    say({"ran": labels})
    for number in sorted(reports):
        say(reports[number])


if __name__ == "__main__":
    main()
