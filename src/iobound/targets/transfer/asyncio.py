"""The workers of a transfer are coroutines, each with a connection, in one event loop: asyncio's own."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import platform
import sys

import driver
from ledger import Ledger, work
from strategies import Bank


def say(line):
    """Print a line of JSON."""
    print(json.dumps(line), flush=True)


async def perform(steps, connection, lock):
    """Carry out steps one by one; return what they come to."""
    answer = error = None
    try:
        while True:
            name, *arguments = steps.throw(error) if error else steps.send(answer)
            try:
                of = lock if name in ("acquire", "release") else connection
                answer, error = getattr(of, name)(*arguments), None
                if inspect.isawaitable(answer):
                    answer = await answer
            except Exception as raised:
                error = raised
    except StopIteration as end:
        return end.value


async def main():
    """Run the workers as tasks, with a lock that is common to them."""
    job = json.load(sys.stdin)
    board = [0] * job["workers"]
    lock, barrier = asyncio.Lock(), asyncio.Barrier(job["workers"])
    bank = Bank(job["service"], driver.PLACEHOLDER, job["pause_s"])
    shared = await driver.connect(job["url"]) if job["strategy"] == "shared-connection" else None
    connections = [shared or await driver.connect(job["url"]) for _ in board]
    for connection in connections:
        labels = {
            "python": platform.python_version(),
            "loop": type(asyncio.get_running_loop()).__module__,
            **driver.ran(connection),
            **await perform(bank.settings(job), connection, lock),
        }
    ledgers = [Ledger(number, board) for number in range(len(board))]

    async def worker(ledger, connection):
        await barrier.wait()
        await perform(work(bank, ledger, job), connection, lock)

    tasks = [asyncio.create_task(worker(*pair)) for pair in zip(ledgers, connections, strict=True)]
    done, _ = await asyncio.wait(tasks, timeout=job["patience_s"])
    for task in done:
        task.result()
    say({"ran": labels})
    for ledger in ledgers:
        say(ledger.report())
    os._exit(0)  # nothing that hangs in a connection is to be waited for


if __name__ == "__main__":
    asyncio.run(main())
