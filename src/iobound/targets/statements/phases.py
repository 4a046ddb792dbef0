"""What the two programs of statements share, `sync.py` and `async.py`. Standard library only, Python 2.7 on.

The data are rows of three columns, in two tables, and rows of 31 columns in a third:

    test_things (x INTEGER, y VARCHAR(255), z FLOAT)               has all rows but those to insert; nothing is committed
    test_points (x INTEGER PRIMARY KEY, y VARCHAR(255), z FLOAT)   has the rows that are read by `x`
    test_wide (id INTEGER PRIMARY KEY, i0 to i9 INTEGER, s0 to s9 VARCHAR(255), f0 to f9 FLOAT)

In a cache they are hashes ``iobound:test_things:X``, ``iobound:test_points:X`` and ``iobound:test_wide:ID`` of the same fields.

A driver that offers ``things`` has all of this as objects: `insert(x, y, z)` adds to the first table, `select()` reads it,
`point(x)` reads one of the second and `wide()` reads the third. One that offers ``sql`` is given the statements below.
"""

from __future__ import print_function

import cProfile
import ctypes
import gc
import json
import platform
import sys
from collections import deque
from operator import attrgetter, itemgetter

import cpu_split
import round_trips

THING = ["x", "y", "z"]
WIDE = ["id"] + ["%s%d" % (kind, number) for kind in "isf" for number in range(10)]

READS = ["select", "point", "wide"]

PR_SET_PTRACER, PR_SET_PTRACER_ANY = 0x59616D61, ctypes.c_ulong(-1)  # linux/prctl.h

INSERT = "INSERT INTO test_things (x, y, z) VALUES ({0}, {1}, {2})"
SELECT = "SELECT * FROM test_things"
POINT = "SELECT x, y, z FROM test_points WHERE x = {0}"
SELECT_WIDE = "SELECT * FROM test_wide"

SOCKETS = ("'_socket.", "'_ssl.", "'select.", "<built-in method select.")  # in the names that cProfile gives


class BadAnswer(Exception):
    """The driver returned other rows than were inserted."""


class Sql(object):
    """The statements on a connection of a driver that offers ``sql``; coroutines where the driver's `execute` is one."""

    def __init__(self, connection, placeholder):
        self.connection = connection
        marks = ["$1", "$2", "$3"] if placeholder == "$1" else [placeholder] * 3
        self.insert_sql, self.point_sql = INSERT.format(*marks), POINT.format(*marks)
        self.begin, self.rollback, self.close = connection.begin, connection.rollback, connection.close
        self.fileno = connection.fileno

    def insert(self, x, y, z):
        return self.connection.execute(self.insert_sql, (x, y, z))

    def select(self):
        return self.connection.execute(SELECT)

    def point(self, x):
        return next(iter(self.connection.execute(self.point_sql, (x,))), None)

    def wide(self):
        return self.connection.execute(SELECT_WIDE)


class Checks(object):
    """What the rows must be. `touch_thing` and `touch_wide` touch every column of a row, and return their values."""

    def __init__(self, job, sql):
        self.there = job["things"][job["inserts"] :]  # from the beginning
        self.rows = {"select": job["things"], "point": job["things"][:1], "wide": job["wides"]}
        self.touch_thing = itemgetter(0, 1, 2) if sql else attrgetter(*THING)
        self.touch_wide = itemgetter(*range(len(WIDE))) if sql else attrgetter(*WIDE)

    def before(self, rows):
        """Refuse other rows than there are before any is inserted."""
        same("select", [list(self.touch_thing(row)) for row in rows], self.there)

    def things(self, rows):
        """Refuse other rows than were inserted."""
        same("select", [list(self.touch_thing(row)) for row in rows], self.rows["select"])

    def wides(self, rows):
        """Refuse other rows than the wide table has."""
        same("wide", [list(self.touch_wide(row)) for row in rows], self.rows["wide"])

    def point(self, x, row):
        """Refuse another row than that of `x`, or none."""
        found = [] if row is None else [list(self.touch_thing(row))]
        same("point", found, [thing for thing in self.rows["select"] if thing[0] == x])

    def counted(self, measured):
        """Refuse another number of rows than the statements of a phase return."""
        expected = measured.statements * len(self.rows[measured.phase])
        if measured.rows != expected:
            raise BadAnswer("%s: %d rows instead of %d" % (measured.phase, measured.rows, expected))


def same(phase, rows, expected):
    if len(rows) != len(expected):
        raise BadAnswer("%s: %d rows instead of %d" % (phase, len(rows), len(expected)))
    for row, right in zip(sorted(rows), sorted(expected)):
        if row != right:
            raise BadAnswer("%s: the row %r instead of %r" % (phase, row, right))


class Measured(object):
    """Measures what happens within, as a context manager, and says it as a line of the phase."""

    def __init__(self, phase, job, fileno):
        self.phase, self.services, self.fileno = phase, job["services"], fileno

    def __enter__(self):
        gc.collect()
        self.served = self.service()
        self.trips = round_trips.count(self.fileno)
        self.before = cpu_split.start()
        return self

    def __exit__(self, kind, *rest):
        split = cpu_split.stop(self.before)
        if kind is None:
            trips = round_trips.count(self.fileno)
            served = self.service()
            line = {
                "phase": self.phase,
                "statements": self.statements,
                "rows": self.rows,
                "database_ns": None if served is None else cpu_split.used_since(self.served, served),
                "round_trips": None if trips is None else trips - self.trips,
            }
            line.update(split)
            say(line)

    def done(self, statements, rows):
        """Tell how many statements were carried out, and how many rows they returned."""
        self.statements, self.rows = statements, rows

    def service(self):
        return None if self.services is None else cpu_split.used_by(self.services)


class Profiled(object):
    """Has cProfile watch what happens within, and says what it saw as a line of the phase."""

    def __init__(self, phase):
        self.phase = phase
        self.profiler = cProfile.Profile()

    def __enter__(self):
        self.before = cpu_split.start()
        self.profiler.enable()
        return self

    def __exit__(self, kind, *rest):
        self.profiler.disable()
        split = cpu_split.stop(self.before)
        if kind is None:
            entries = self.profiler.getstats()
            sockets = sum(entry.inlinetime for entry in entries if any(sign in str(entry.code) for sign in SOCKETS))
            line = {
                "profiled": self.phase,
                "statements": self.statements,
                "calls": sum(entry.callcount for entry in entries),
                "sockets_ns": int(sockets * 1e9),
            }
            line.update(split)
            say(line)

    def done(self, statements, rows):
        """Tell how many statements were carried out."""
        self.statements = statements


# Goes through an iterable at the least that a loop costs.
exhaust = deque(maxlen=0).extend


def now():
    """Return nanoseconds of the monotonic clock."""
    return cpu_split.nanoseconds(cpu_split.CLOCK_MONOTONIC)


def answer(checks, rows, times):
    """Say what turning rows into the JSON of an answer takes."""
    rows = list(rows)
    before = cpu_split.start()
    for _ in range(times):
        text = json.dumps([dict(zip(THING, checks.touch_thing(row))) for row in rows])
    line = {"answers": times, "bytes": len(text)}
    line.update(cpu_split.stop(before))
    say(line)


def labels():
    """Say what runs here, as this process sees it."""
    return {
        "python": "%s %s" % (platform.python_implementation(), platform.python_version()),
        "transaction": "one, never committed",
    }


def let_be_sampled():
    """Allow other processes of the same user to read this one's stacks, where the kernel asks for that (Yama)."""
    ctypes.CDLL(None).prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY)


def say(line):
    print(json.dumps(line))
    sys.stdout.flush()
