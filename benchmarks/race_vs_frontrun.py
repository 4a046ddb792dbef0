"""The verdicts of ``iobound race`` and of frontrun 0.7.0, the nearest tool, on the same functions, invariants and server.

.venv/bin/python benchmarks/race_vs_frontrun.py

The functions are those of tests/race/cases, unchanged, on a private PostgreSQL at READ COMMITTED. frontrun gets an environment
of its own, made by uv, and is started by its own command, with its defaults but for a minute for each function and the option
that its first error asks for (warn_nondeterministic_sql); and once more without its detection of sockets, whose waits for a
row's lock it can't end. Prints a table, and exits with 1 where iobound is wrong.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from uv import find_uv_bin

from iobound.lab.service import ServiceOptions, find
from iobound.race import cases, explorer

FRONTRUN = "frontrun==0.7.0"
REQUIREMENTS = (FRONTRUN, "psycopg[binary]>=3.2", "psycopg2-binary", "pymysql")
CASES = Path(__file__).parents[1] / "tests" / "race" / "cases"
TIMEOUT_S = 60
TOOLS = ("iobound", "frontrun 0.7.0", "frontrun 0.7.0, detect_io=False")
RIGHT = {
    "voucher_usage_limit.py:redeem": "violated",
    "voucher_usage_limit.py:redeem_locked": "holds",
    "voucher_usage_limit.py:redeem_guarded": "holds",
    "single_use_voucher_exists.py:apply": "violated",
    "check_before_lock.py:redeem": "violated",
    "check_before_lock.py:redeem_checked_again": "holds",
    "last_admin_removed.py:demote": "violated",
    "queue_lock_two_jobs.py:fetch": "violated",
    "job_run_twice.py:start": "violated",
    "withdraw_overdraft.py:withdraw_guarded": "holds",
    "variants_locks.py:advisory_session_released_before_commit": "violated",
    "variants_locks.py:advisory_session_released_after_commit": "holds",
    "variants_locks.py:advisory_transaction": "holds",
    "variants_locks.py:lock_given_back_by_savepoint": "violated",
    "variants_statements.py:function_in_the_database": "violated",
    "variants_statements.py:function_in_the_database_locked": "holds",
    "variants_statements.py:subquery": "violated",
    "variants_statements.py:server_side_cursor": "violated",
    "variants_statements.py:copy_out": "violated",
    "variants_transactions.py:psycopg_transaction": "violated",
    "variants_transactions.py:psycopg_transaction_locked": "holds",
    "variants_transactions.py:autocommit": "violated",
}

# What frontrun runs: one function of a case, its decorator read as data, since iobound isn't in that environment.
PROGRAM = """
import importlib, inspect, json, os, sys, time, types
import frontrun, psycopg

job = json.load(open(sys.argv[1]))
os.environ["DATABASE_URL"] = job["url"]
sys.path.insert(0, job["folder"])
described = {}

def case(**options):
    def keep(function):
        described[function] = options
        return function
    return keep

iobound = types.ModuleType("iobound")
iobound.race = types.SimpleNamespace(case=case)
sys.modules["iobound"] = iobound
function = getattr(importlib.import_module(job["module"]), job["function"])
options = described[function]
sessions = options.get("sessions", [(), ()])

class Database:
    def execute(self, sql, *parameters):
        with psycopg.connect(job["url"], autocommit=True) as connection:
            connection.execute(sql, parameters or None)
    def rows(self, sql, *parameters):
        with psycopg.connect(job["url"], autocommit=True) as connection:
            return connection.execute(sql, parameters or None).fetchall()
    def scalar(self, sql, *parameters):
        return self.rows(sql, *parameters)[0][0]

db = Database()

def setup():
    options["setup"](db)
    return {}

def worker(number):
    def work(outcomes):
        try:
            outcomes[number] = types.SimpleNamespace(ending="committed", returned=function(*sessions[number]))
        except psycopg.Error as error:
            outcomes[number] = types.SimpleNamespace(ending="error", returned=None)
    return work

def invariant(outcomes):
    execution = types.SimpleNamespace(outcomes=[outcomes[number] for number in sorted(outcomes)])
    condition = options["invariant"]
    return bool(condition(*(db, execution)[: len(inspect.signature(condition).parameters)]))

began = time.perf_counter()
try:
    workers = [worker(number) for number in range(len(sessions))]
    limits = {"total_timeout": job["timeout"], "warn_nondeterministic_sql": False, **job["options"]}
    result = frontrun.explore(setup, workers, invariant, **limits)
    verdict = {True: "holds", False: "violated", None: "inconclusive"}[result.property_holds]
    explored = result.num_explored
except Exception as error:
    verdict, explored = f"{type(error).__name__}: {error}"[:200], 0
print(json.dumps({"verdict": verdict, "explored": explored, "seconds": time.perf_counter() - began}))
"""


def theirs(folder: Path, named: str, url: str, **options: bool) -> tuple[str, int, float]:
    """Return frontrun's verdict, how many schedules it ran, and the seconds."""
    file, _, function = named.partition(":")
    job = {
        "folder": str(CASES),
        "module": Path(file).stem,
        "function": function,
        "url": url,
        "timeout": TIMEOUT_S,
        "options": options,
    }
    (folder / "job.json").write_text(json.dumps(job))
    command = [
        str(folder / "bin" / "frontrun"),
        str(folder / "bin" / "python"),
        str(folder / "program.py"),
        str(folder / "job.json"),
    ]
    began = time.perf_counter()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=2 * TIMEOUT_S)
        said = json.loads(done.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        return "no end", 0, time.perf_counter() - began
    except (json.JSONDecodeError, IndexError):
        return f"died: {done.stderr[-200:]!r}", 0, time.perf_counter() - began
    return said["verdict"].partition("\n")[0], said["explored"], said["seconds"]


def ours(named: str) -> tuple[str, int, float]:
    """Return the verdict, how many schedules were run, and the seconds."""
    began = time.perf_counter()
    report = explorer.explore_case(cases.load(str(CASES / named)))
    return report.verdict, report.schedules, time.perf_counter() - began


def main() -> int:
    """Compare, and print a table."""
    wrong = dict.fromkeys(TOOLS, 0)
    with tempfile.TemporaryDirectory() as made, find("postgresql").start(ServiceOptions()) as service:
        folder = Path(made)
        uv = find_uv_bin()
        subprocess.run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, made], check=True)
        subprocess.run([uv, "pip", "install", "--quiet", "--python", str(folder / "bin" / "python"), *REQUIREMENTS], check=True)
        (folder / "program.py").write_text(PROGRAM)
        url = service.dataset(0)
        print(f"{'function':<60}{'right':<10}{TOOLS[0]:<32}{TOOLS[1]:<32}{TOOLS[2]}")
        for named, right in RIGHT.items():
            found = (ours(named), theirs(folder, named, url), theirs(folder, named, url, detect_io=False))
            shown = []
            for tool, (verdict, schedules, seconds) in zip(TOOLS, found, strict=True):
                wrong[tool] += verdict != right
                shown.append(f"{' ' if verdict == right else '!'} {verdict} ({schedules}, {seconds:.1f} s)")
            print(f"{named:<60}{right:<10}{shown[0]:<32}{shown[1]:<32}{shown[2]}", flush=True)
    for tool, count in wrong.items():
        print(f"{tool}: {len(RIGHT) - count} of {len(RIGHT)} right")
    return int(wrong["iobound"] > 0)


if __name__ == "__main__":
    sys.exit(main())
