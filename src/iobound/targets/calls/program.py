"""Measure primitives: the functions of one family, linked beside this file as ``primitives.py``. Runs on Python 2.7 and later.

Reads one JSON object, the job, on standard input:

    primitives  names to measure, those that this Python has not left out; null for all of the family
    loop        "asyncio", "uvloop", or null for a family that needs none
    target_s    how long one value is measured, in seconds
    values      how many values are kept of each primitive
    seed        decides the order of the primitives, so that none always follows the same other

and prints JSON lines: ``{"ran": {...}}`` with labels read from this process, then one for each primitive:

    primitive, loop, what   its name, the event loop, and what one operation is
    ns                      nanoseconds of one operation, one value each, the overhead subtracted
    overhead_ns             of one turn of an empty `for` loop, measured in this process; `ns` with it is what was measured
    loops                   operations in one value

or ``{"primitive", "loop", "error"}`` where it failed. Where something that the family needs can't be imported, the only line is
``{"unavailable": "why"}``.

A primitive is a public function of the family. It is called with an iterable of so many steps, carries out one operation a
step, and returns (or, as a coroutine, results in) the seconds that they took, its own preparations apart. Its docstring says
what one operation is. As in pyperf, a process measures after a calibration and a warm-up and is one launch among several.
"""

import gc
import inspect
import json
import platform
import random
import sys
import sysconfig
from itertools import repeat
from timeit import default_timer as clock

MOST_LOOPS = 2**30
EMPTY_VALUES = 15  # of the empty loop, of which the fastest counts
CLOCK_STEP_S = 1e-6  # of the coarsest clock, that of Python 2.7
WARM_UPS = {"PyPy": 10}  # beside that of the calibration: a tracing compiler compiles again before it is done
PACKAGES = ["gevent", "greenlet", "uvloop", "sqlalchemy", "psycopg2", "aiopg"]


def main():
    job = json.load(sys.stdin)
    try:
        loop = new_loop(job["loop"])
        import primitives
    except ImportError as error:
        say({"unavailable": str(error)})
        return
    family = {
        name.replace("_", "-"): function
        for name, function in vars(primitives).items()
        if inspect.isfunction(function) and function.__module__ == "primitives" and not name.startswith("_")
    }
    names = sorted(name for name in family if name in (job["primitives"] or family))
    random.Random(job["seed"]).shuffle(names)
    gc.collect()
    if hasattr(gc, "freeze"):
        gc.freeze()  # collections then take as long as the primitive's own objects need, whatever was imported
    say({"ran": labels(loop)})
    run = runner(loop)
    overhead = min(measure(runner(None), empty, job["target_s"], EMPTY_VALUES)[0])
    for name in names:
        line = {"primitive": name, "loop": job["loop"]}
        try:
            taken, loops = measure(run, family[name], job["target_s"], job["values"])
        except Exception as error:
            line["error"] = type(error).__name__ + ": " + str(error)
        else:
            line["what"] = " ".join(family[name].__doc__.split())
            line["ns"] = [(each - overhead) * 1e9 for each in taken]
            line["overhead_ns"] = overhead * 1e9
            line["loops"] = loops
        say(line)
    if loop is not None:
        loop.close()


def measure(run, function, target_s, values):
    """Return the seconds of one operation, `values` times, and how many operations each value consists of."""
    loops = calibrate(run, function, target_s)
    for _ in range(WARM_UPS.get(platform.python_implementation(), 0)):
        run(function, loops)
    gc.collect()
    return [run(function, loops) / loops for _ in range(values)], loops


def calibrate(run, function, target_s):
    """Return how many operations take at least `target_s`.

    A first one that is slow (an import, a cache that fills, a moment without the processor) doesn't end the search: the time
    must be reached twice in a row, the second of which is the warm-up.
    """
    loops = 1
    while True:
        taken = min(run(function, loops), run(function, loops))
        if taken >= target_s or loops >= MOST_LOOPS:
            return loops
        loops = int(loops * min(max(1.2 * target_s / max(taken, CLOCK_STEP_S), 2), 100))


def empty(times):
    """One turn of a `for` loop that does nothing."""
    started = clock()
    for _ in times:
        pass
    return clock() - started


def runner(loop):
    """Return what calls a primitive for so many operations and returns their seconds."""

    def run(function, loops):
        result = function(repeat(None, loops))
        return result if isinstance(result, float) else loop.run_until_complete(result)

    return run


def new_loop(name):
    if name is None:
        return None
    import asyncio

    if name == "uvloop":
        import uvloop

        loop = uvloop.new_event_loop()
    else:
        loop = asyncio.SelectorEventLoop()
    asyncio.set_event_loop(loop)
    return loop


def labels(loop):
    """Say what runs here, as this process sees it."""
    configured = sysconfig.get_config_var("CONFIG_ARGS") or ""
    optimised = [name for name, flag in [("PGO", "--enable-optimizations"), ("LTO", "--with-lto")] if flag in configured]
    ran = {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "build": "+".join(optimised) or "no PGO",
        "gil": "on" if getattr(sys, "_is_gil_enabled", lambda: True)() else "off",
        "gc": "on" if gc.isenabled() else "off",
    }
    if loop is not None:
        ran["loop"] = type(loop).__module__ + "." + type(loop).__name__
    for name in PACKAGES:
        if name in sys.modules:
            ran[name] = sys.modules[name].__version__
    return ran


def say(line):
    print(json.dumps(line))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
