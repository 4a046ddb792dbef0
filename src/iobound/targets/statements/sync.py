"""Measure what the time of single statements goes into: one process, one connection, `driver.py` beside this file.

Reads one JSON object, the job, on standard input:

    url        of the database, whose tables are as `phases.py` says
    things     the rows to get back, each of x, y and z, of which the first `inserts` are to be inserted
    wides      those of the wide table
    points     values of x to read rows by
    times      statements of each phase that reads: select, point, wide
    most_s     seconds after which such a phase ends before all its statements are done
    answers    times that rows are made into the JSON of an answer
    services   processes that are, with their descendants, the database; null where they can't be seen
    profiled   null, or statements of each phase that are carried out once more under cProfile, no longer than the same time
    sampled_s  seconds for which the select phase is carried out once more while its stacks are sampled; 0 for none

and prints JSON lines: ``{"ran": {...}}`` with labels read from this process, for each phase what `phases.Measured` says, what
`phases.answer` says of JSON, for each profiled phase what `phases.Profiled` says, and ``{"sampling": true}`` when stacks may be
sampled; or ``{"bad": "why"}`` where the driver returned other rows than were inserted. Rows are checked before the clock runs,
counted while it does, and checked after. Nothing is committed. `async.py` is the same for coroutines.
"""

import json
import sys
from itertools import cycle

import driver
import phases


def main():
    job = json.load(sys.stdin)
    sql = hasattr(driver, "PLACEHOLDER")
    opened = driver.connect(job["url"])
    things = phases.Sql(opened, driver.PLACEHOLDER) if sql else opened
    phases.say({"ran": dict(phases.labels(), **driver.ran(opened))})
    try:
        carry_out(job, things, phases.Checks(job, sql))
    except phases.BadAnswer as error:
        phases.say({"bad": str(error)})
    things.rollback()
    things.close()


def carry_out(job, things, checks):
    reads = {"select": selecting(things, checks), "point": pointing(things, checks, job), "wide": widening(things, checks)}
    warm_up(job, things, checks)
    fileno = things.fileno()
    with phases.Measured("insert", job, fileno) as measured:
        measured.done(*insert(things, job["things"][: job["inserts"]]))
    checks.things(things.select())
    for phase in phases.READS:
        with phases.Measured(phase, job, fileno) as measured:
            measured.done(*repeat(reads[phase], job["times"][phase], job["most_s"]))
        checks.counted(measured)
    checks.things(things.select())
    checks.wides(things.wide())
    phases.answer(checks, things.select(), job["answers"])
    if job["profiled"]:
        for phase in phases.READS:
            with phases.Profiled(phase) as profiled:
                profiled.done(*repeat(reads[phase], job["profiled"][phase], job["most_s"]))
        with phases.Profiled("insert") as profiled:
            profiled.done(*insert(things, job["things"][: job["profiled"]["insert"]]))
    if job["sampled_s"]:
        phases.let_be_sampled()
        phases.say({"sampling": True})
        repeat(reads["select"], sys.maxsize, job["sampled_s"])


def warm_up(job, things, checks):
    """Carry out each statement before it counts, as some do more the first time; check what can be read already."""
    things.begin()
    things.insert(*job["things"][0])
    things.rollback()
    things.begin()
    checks.before(things.select())
    for x in job["points"][:3]:
        checks.point(x, things.point(x))
    checks.wides(things.wide())


def insert(things, rows):
    for x, y, z in rows:
        things.insert(x, y, z)
    things.point(rows[0][0])  # whose answer comes after all others, of drivers too that don't wait for each
    return len(rows), 0


def repeat(statement, times, most_s):
    """Carry out `statement` so many times, or until the time is over; return how many times, and the rows."""
    until, done, rows = phases.now() + most_s * 1e9, 0, 0
    while done < times and phases.now() < until:
        rows += statement()
        done += 1
    return done, rows


def selecting(things, checks):
    def select():
        rows = things.select()
        phases.exhaust(map(checks.touch_thing, rows))
        return len(rows)

    return select


def pointing(things, checks, job):
    points = cycle(job["points"])

    def point():
        checks.touch_thing(things.point(next(points)))
        return 1

    return point


def widening(things, checks):
    def wide():
        rows = things.wide()
        phases.exhaust(map(checks.touch_wide, rows))
        return len(rows)

    return wide


if __name__ == "__main__":
    main()
