"""Splits the wall time of a process that does one thing after another. Standard library only, Linux, Python 2.7 on.

Between `start` and `stop` it says

    wall_ns       by the monotonic clock
    user_ns       on a processor in user mode
    system_ns     on a processor in the kernel
    runqueue_ns   ready to run, waiting for a processor
    wait_ns       off the processor: the remainder, which makes them add up to the wall time
    threads_ns    CPU time of threads other than the main one, which is part of `user_ns` and `system_ns`

A driver that has a thread of its own does its work while the main thread waits for it: the CPU and run-queue time of other
threads are taken out of the main thread's wait, and count no further than that is long (what runs beside the main thread
isn't part of the wall time twice). CPU time is that of the threads' own clocks, in nanoseconds. The kernel tells user from
system time only by where its ticks fall; their ratio between the two readings is applied.
"""

import os
import resource

CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID = 1, 2, 3  # linux/time.h

try:
    from time import clock_gettime_ns as nanoseconds
except ImportError:
    try:
        from time import clock_gettime

        def nanoseconds(clock):
            return int(clock_gettime(clock) * 1e9)

    except ImportError:  # Python 2
        import ctypes

        class Timespec(ctypes.Structure):
            _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]

        LIBC = ctypes.CDLL(None, use_errno=True)

        def nanoseconds(clock):
            now = Timespec()
            if LIBC.clock_gettime(clock, ctypes.byref(now)):
                raise OSError(ctypes.get_errno(), "clock_gettime")
            return now.seconds * 10**9 + now.nanoseconds


def start():
    """Return a reading to begin with; its clocks are read last, so that what reading takes isn't part of what follows."""
    reading = counts()
    reading.update(clocks())
    return reading


def stop(before):
    """Return what the time since the reading `before` went into. Both are taken in the main thread."""
    after = clocks()
    after.update(counts())
    return split(before, after)


def clocks():
    return {
        "wall": nanoseconds(CLOCK_MONOTONIC),
        "process": nanoseconds(CLOCK_PROCESS_CPUTIME_ID),
        "main": nanoseconds(CLOCK_THREAD_CPUTIME_ID),
    }


def counts():
    used = resource.getrusage(resource.RUSAGE_SELF)
    process = os.getpid()
    delays = dict((int(thread), run_delay(process, thread)) for thread in os.listdir("/proc/self/task"))
    return {"user_s": used.ru_utime, "system_s": used.ru_stime, "main_delay": delays.pop(process), "delays": delays}


def run_delay(process, thread):
    """Return for how many nanoseconds a thread has been ready without running; 0 for one that has just ended."""
    try:
        with open("/proc/%s/task/%s/schedstat" % (process, thread)) as file:
            return int(file.read().split()[1])
    except (IOError, OSError):
        return 0


def split(before, after):
    """Return what the time between two readings went into, in the terms above."""
    wall, main, process = (after[clock] - before[clock] for clock in ("wall", "main", "process"))
    main = min(main, wall)
    queued = min(after["main_delay"] - before["main_delay"], wall - main)
    waited = wall - main - queued
    threads = max(process - main, 0)
    beside = min(threads, waited)
    others = sum(max(delay - before["delays"].get(thread, 0), 0) for thread, delay in after["delays"].items())
    others = min(others, waited - beside)
    user, system = after["user_s"] - before["user_s"], after["system_s"] - before["system_s"]
    in_user = user / (user + system) if user + system > 0 else 1.0
    user_ns = int((main + beside) * in_user)
    return {
        "wall_ns": wall,
        "user_ns": user_ns,
        "system_ns": main + beside - user_ns,
        "runqueue_ns": queued + others,
        "wait_ns": waited - beside - others,
        "threads_ns": threads,
    }


def used_by(roots):
    """Return the CPU nanoseconds that each live thread of the processes `roots` and their descendants has used, by its id."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name) as file:
                    parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
            except (IOError, OSError):
                continue
    family = set(roots)
    while True:
        more = set(pid for pid, parent in parents.items() if parent in family) - family
        if not more:
            return dict(used for pid in family for used in on_cpu(pid))
        family |= more


def on_cpu(pid):
    """Return the threads of a process and the CPU nanoseconds that each has used; exact for those that sleep now."""
    found = []
    try:
        for thread in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/schedstat" % (pid, thread)) as file:
                found.append((int(thread), int(file.read().split()[0])))
    except (IOError, OSError):
        return found
    return found


def used_since(before, after):
    """Return the CPU nanoseconds between two readings of `used_by`; what threads used that ended in between isn't seen."""
    return sum(used - before.get(thread, 0) for thread, used in after.items())
