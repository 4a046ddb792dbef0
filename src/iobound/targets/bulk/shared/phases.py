"""Carries out the phases of a load and prints what each took, one line of JSON a phase. Keeps to the syntax of Python 2.7."""

import json
import platform
import resource
import sys
import time

from feeding import PHASES, clock

PAUSE_S = 0.05  # before and after each phase, for whoever watches to read counters while all connections are open
WINDOW_S = 1.0  # of the rate as the published suite gave it


class GoneError(Exception):
    """The database doesn't take connections any more."""


class RefusedError(Exception):
    """A connection couldn't be made, the first time it was tried."""


class LacksError(Exception):
    """The driver hasn't got what was asked for."""


def read_job():
    """Return the job from standard input."""
    return json.load(sys.stdin)


def say(**line):
    """Print a line."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def labels(ran):
    """Return what a driver says of itself with what is known of the interpreter, all as text."""
    own = {"python": platform.python_version(), "interpreter": platform.python_implementation()}
    if hasattr(sys, "_is_gil_enabled"):
        own["gil"] = "on" if sys._is_gil_enabled() else "off"
    return dict([(name, str(value)) for name, value in ran.items() if value is not None], **own)


def conduct(job, feeder, group):
    """Have `group` connect and load, phase by phase.

    A group has ``connect() -> labels``, ``run(phase) -> result`` and ``close()``; see `tally` for what a result is.
    """
    try:
        say(ready=labels(group.connect()))
        time.sleep(PAUSE_S)
        times = []
        for phase in PHASES:
            started = clock()
            result = group.run(phase)
            ended = clock()
            done = result.pop("times")
            if job["feeder"] == "published":
                times += [(at, 1 if phase == "geo" else job["columns"]) for at in done]
                result["window_rows_per_second"] = sum(rows for at, rows in times if at > ended - WINDOW_S) / WINDOW_S
            say(phase=phase, wall_s=ended - started, **result)
            if result["gone"]:
                return
            time.sleep(PAUSE_S)
        group.close()
        say(feeder_cpu_s=feeder.ended())
    except RefusedError as error:
        say(refused=str(error))
    except LacksError as error:
        say(lacks=str(error))


def cpu():
    """Return the user and system seconds of this process so far."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime, usage.ru_stime


def tally(workers, before, gone, times):
    """Return what `workers` did in a phase that began at `before` (see `cpu`), and have them begin anew.

    `rows` are those that were committed, by worker; `lost` the lines that aren't loaded, with the reason; `retried` counts
    the lines that were loaded again on a new connection; `gone` says why the phase ended early.
    """
    user, system = cpu()
    result = {
        "user_s": user - before[0],
        "system_s": system - before[1],
        "rows": [worker.rows for worker in workers],
        "empty_s": sum(worker.empty_s for worker in workers),
        "retried": sum(worker.retried for worker in workers),
        "lost": [lost for worker in workers for lost in worker.lost],
        "gone": gone,
        "times": times,
    }
    for worker in workers:
        worker.begin()
    return result


def merge(results):
    """Return what several groups did together."""
    merged = dict(results[0])
    for result in results[1:]:
        for name in ("user_s", "system_s", "rows", "empty_s", "retried", "lost", "times"):
            merged[name] = merged[name] + result[name]
        merged["gone"] = merged["gone"] or result["gone"]
    return merged
