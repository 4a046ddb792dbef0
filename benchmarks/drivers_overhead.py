"""What the programs of ``drivers`` cost over scripts written by hand that send the same SQL: CPU a statement, on one core.

.venv/bin/python benchmarks/drivers_overhead.py [ROUNDS]

Prints the least CPU a statement of each, which what else uses the machine disturbed least, and its ratio; exits with 1 where
that of the SELECTs, of 1,000 rows each, is above the limit.
"""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path
from typing import Any

from iobound.lab import catalogue, drivers, scripts, things
from iobound.lab.drivers import Driver
from iobound.lab.environments import environment
from iobound.lab.laboratory import Laboratory

LIMIT = 1.02
SELECTS = 300

BY_HAND = """
import json, sys, time
job = json.load(sys.stdin)
{connect}
cursor = connection.cursor()
cursor.execute("BEGIN")
before = time.thread_time_ns()
for row in job["things"]:
    cursor.execute("INSERT INTO test_things (x, y, z) VALUES ({mark}, {mark}, {mark})", row)
inserted = time.thread_time_ns()
for _ in range(job["times"]["select"]):
    cursor.execute("SELECT * FROM test_things")
    for row in cursor.fetchall():
        row[0], row[1], row[2]
selected = time.thread_time_ns()
for phase, count, ns in [
    ("insert", len(job["things"]), inserted - before), ("select", job["times"]["select"], selected - inserted)
]:
    print(json.dumps({{"phase": phase, "statements": count, "user_ns": ns, "system_ns": 0}}))
"""
CONNECT = {
    "sqlite3": ("import sqlite3; connection = sqlite3.connect(job['url'][10:], isolation_level=None)", "?"),
    "psycopg2": ("import psycopg2; connection = psycopg2.connect(job['url']); connection.autocommit = True", "%s"),
}


def main(rounds: int) -> int:
    """Print the overhead of each driver; return the exit code."""
    worst = 0.0
    with Laboratory() as laboratory, tempfile.TemporaryDirectory() as folder:
        for name, (connect, mark) in CONNECT.items():
            by_hand = Path(folder) / f"{name}.py"
            by_hand.write_text(BY_HAND.format(connect=connect, mark=mark))
            driver = drivers.find(name)
            statements = catalogue.FOLDER / "statements"
            ours = {file: statements / file for file in ("phases.py", "cpu_split.py")}
            ours |= {"program.py": statements / "sync.py", "driver.py": driver.path}
            ours["round_trips.py"] = catalogue.FOLDER / "round_trips.py"
            least: dict[tuple[str, str], float] = {}
            for _ in range(rounds):
                for which, files in random.sample([("ours", ours), ("by hand", {"program.py": by_hand})], 2):
                    for phase, us in measured(laboratory, driver, files).items():
                        least[which, phase] = min(us, least.get((which, phase), us))
            for phase in ("insert", "select"):
                ratio = least["ours", phase] / least["by hand", phase]
                print(f"{name}, {phase}: {least['ours', phase]:.2f} us, by hand {least['by hand', phase]:.2f} us: {ratio:.3f}")
            worst = max(worst, least["ours", "select"] / least["by hand", "select"])
    return int(worst > LIMIT)


def measured(laboratory: Laboratory, driver: Driver, files: dict[str, Path]) -> dict[str, float]:
    """Return the CPU of one statement of each phase, in microseconds."""
    rows = things.things(1000)
    job: dict[str, Any] = {
        "url": things.make(laboratory.service(driver.service), "drivers", [], rows),
        "things": rows,
        "inserts": len(rows),
        "wides": things.wides(),
        "points": [1],
        "times": {"select": SELECTS, "point": 1, "wide": 1},
        "most_s": 60.0,
        "services": [],
        "profiled": None,
        "sampled_s": 0.0,
        "answers": 1,
    }
    with scripts.launch(driver.name, files, environment(drivers.ENVIRONMENT), job, cpus=laboratory.placement.target) as script:
        said = [line for line in script.lines(120) if "phase" in line]
    return {line["phase"]: (line["user_ns"] + line["system_ns"]) / line["statements"] / 1e3 for line in said}


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10))
