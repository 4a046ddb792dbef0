"""What the programs of ``bulk`` cost over scripts written by hand that send the same SQL: CPU a row, interleaved on one core.

.venv/bin/python benchmarks/bulk_overhead.py [ROUNDS]

Prints the least CPU a row of each, which what else uses the machine disturbed least, and its ratio; exits with 1 where that is
above the limit.
"""

from __future__ import annotations

import os
import random
import statistics
import sys
import tempfile
from pathlib import Path

from iobound.lab import drivers, loaders, scripts
from iobound.lab.census import data
from iobound.lab.census.tables import Tables
from iobound.lab.environments import Environment, environment
from iobound.lab.service import ServiceOptions, find

LINES = 100
CONNECTIONS = 10
LIMIT = 1.02

READ = """
import json, resource, sys, time
job = json.load(sys.stdin)
lines = [line.strip().split(",") for line in open(job["path"])][:job["lines"]]
lines = [(tuple(line[:5]), [int(value) for value in line[5:]]) for line in lines]
def cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
"""
SAY = """
print(json.dumps({"cpu_us": (cpu() - before) / sum(len(values) for _, values in lines) * 1e6}))
"""
WHERE = "fileid = {} AND stusab = {} AND chariter = {} AND cifsn = {} AND logrecno = {}"
ITEMS = (
    "SELECT dictionary_item.id FROM dictionary_item JOIN matrix ON matrix.id = dictionary_item.matrix_id "
    "WHERE matrix.segment = {} ORDER BY dictionary_item.id"
)
INSERT = "INSERT INTO data_element (geo_record_id, dictionary_item_id, value) VALUES ({}, {}, {})"
GEO = "INSERT INTO geo_record (fileid, stusab, chariter, cifsn, logrecno) VALUES ({}, {}, {}, {}, {})"

THREADS = (
    READ
    + """
import threading
from collections import deque
import psycopg2
connections = [psycopg2.connect(job["url"]) for _ in range(job["connections"])]
def geo(connection, todo):
    connection.autocommit = True
    cursor = connection.cursor()
    while todo:
        cursor.execute(GEO, todo.popleft()[0])
def load(connection, todo):
    cursor = connection.cursor()
    while True:
        try:
            geo, values = todo.popleft()
        except IndexError:
            return
        cursor.execute(RECORD, geo)
        record = cursor.fetchall()[0][0]
        cursor.execute(ITEMS, (geo[3],))
        items = cursor.fetchall()
        for (item,), value in zip(items, values):
            cursor.execute(INSERT, (record, item, value))
geo(connections[0], deque(lines))
for connection in connections:
    connection.autocommit = True
time.sleep(0.1)
todo = deque(lines)
before = cpu()
threads = [threading.Thread(target=load, args=(connection, todo)) for connection in connections]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    + SAY
)
ASYNCIO = (
    READ
    + """
import asyncio
from collections import deque
import asyncpg
async def load(connection, todo):
    while todo:
        geo, values = todo.popleft()
        record = (await connection.fetch(RECORD, *geo))[0][0]
        items = await connection.fetch(ITEMS, geo[3])
        for item, value in zip(items, values):
            await connection.fetch(INSERT, record, item[0], value)
async def main():
    global before
    connections = [await asyncpg.connect(job["url"]) for _ in range(job["connections"])]
    for geo, _ in lines:
        await connections[0].fetch(GEO, *geo)
    await asyncio.sleep(0.1)
    todo = deque(lines)
    before = cpu()
    await asyncio.gather(*[load(connection, todo) for connection in connections])
asyncio.run(main())
"""
    + SAY
)


def by_hand(script: str, marks: list[str]) -> str:
    """Return a script with the statements in the placeholders of its driver."""
    statements = {"RECORD": "SELECT id FROM geo_record WHERE " + WHERE, "ITEMS": ITEMS, "INSERT": INSERT, "GEO": GEO}
    return "".join(f"{name} = {text.format(*marks)!r}\n" for name, text in statements.items()) + script


def main(rounds: int) -> int:
    """Measure and print; return the exit code."""
    census = data.made(1, LINES)
    load = data.load(census, LINES, report_bad=False)
    built = environment(drivers.ENVIRONMENT)
    target, *others = sorted(os.sched_getaffinity(0), reverse=True)
    scripts_by_hand = {
        "threads/psycopg2": by_hand(THREADS, ["%s"] * 5),
        "asyncio/asyncpg": by_hand(ASYNCIO, [f"${number}" for number in range(1, 6)]),
    }
    failed = False
    with (
        find("postgresql").start(ServiceOptions(cpus=others or [target])) as service,
        Tables("postgresql", service.scratch("bulk"), census.matrices) as tables,
        tempfile.TemporaryDirectory() as folder,
    ):
        job = {
            "url": tables.url, "connections": CONNECTIONS, "path": str(census.path), "lines": LINES, "columns": load.columns,
            "skip": [], "transaction": "autocommit", "statements": "single", "feeder": "preloaded", "feeder_cpus": others,
        }  # fmt: skip
        for name, text in scripts_by_hand.items():
            hand = Path(folder, "hand.py")
            hand.write_text(text)
            files = {"by hand": {"program.py": hand}, "iobound": loaders.files(*loaders.find(name))}
            used: dict[str, list[float]] = {who: [] for who in files}
            for _ in range(rounds):
                for who in random.sample([*files], 2):
                    tables.empty()
                    used[who].append(cpu_us(files[who], built, job, target, load.expected.rows))
                    if tables.contents() != load.expected:
                        raise SystemExit(f"{name} {who} loaded something else")
            paired = statistics.median(ours / theirs for ours, theirs in zip(used["iobound"], used["by hand"], strict=True))
            least = {who: min(values) for who, values in used.items()}
            ratio = least["iobound"] / least["by hand"]
            print(
                f"{name}: by hand {least['by hand']:.2f}, iobound {least['iobound']:.2f} us a row: {ratio:.3f}x "
                f"(median of the pairs {paired:.3f}x)"
            )
            failed |= ratio > LIMIT
    return int(failed)


def cpu_us(files: dict[str, Path], built: Environment, job: dict[str, object], core: int, rows: int) -> float:
    """Run a program and return its CPU a row in microseconds."""
    with scripts.launch("load", files, built, job, cpus=[core]) as script:
        last = [line for line in script.lines(120) if "cpu_us" in line or line.get("phase") == "data"][-1]
    return float(last["cpu_us"] if "cpu_us" in last else (last["user_s"] + last["system_s"]) / rows * 1e6)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 15))
