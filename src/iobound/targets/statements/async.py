"""Measure what the time of single statements goes into where they are coroutines: `sync.py`, with `await`. Python 3.6 on."""

import asyncio
import json
import sys
from itertools import cycle

import driver
import phases


class Sql(phases.Sql):
    async def point(self, x):
        return next(iter(await self.connection.execute(self.point_sql, (x,))), None)


async def main():
    job = json.load(sys.stdin)
    sql = hasattr(driver, "PLACEHOLDER")
    opened = await driver.connect(job["url"])
    things = Sql(opened, driver.PLACEHOLDER) if sql else opened
    loop = type(asyncio.get_event_loop())
    labels = dict(phases.labels(), loop="%s.%s" % (loop.__module__, loop.__name__))
    phases.say({"ran": dict(labels, **driver.ran(opened))})
    try:
        await carry_out(job, things, phases.Checks(job, sql))
    except phases.BadAnswer as error:
        phases.say({"bad": str(error)})
    await things.rollback()
    await things.close()


async def carry_out(job, things, checks):
    reads = {"select": selecting(things, checks), "point": pointing(things, checks, job), "wide": widening(things, checks)}
    await warm_up(job, things, checks)
    fileno = things.fileno()
    with phases.Measured("insert", job, fileno) as measured:
        measured.done(*await insert(things, job["things"][: job["inserts"]]))
    checks.things(await things.select())
    for phase in phases.READS:
        with phases.Measured(phase, job, fileno) as measured:
            measured.done(*await repeat(reads[phase], job["times"][phase], job["most_s"]))
        checks.counted(measured)
    checks.things(await things.select())
    checks.wides(await things.wide())
    phases.answer(checks, await things.select(), job["answers"])
    if job["profiled"]:
        for phase in phases.READS:
            with phases.Profiled(phase) as profiled:
                profiled.done(*await repeat(reads[phase], job["profiled"][phase], job["most_s"]))
        with phases.Profiled("insert") as profiled:
            profiled.done(*await insert(things, job["things"][: job["profiled"]["insert"]]))
    if job["sampled_s"]:
        phases.let_be_sampled()
        phases.say({"sampling": True})
        await repeat(reads["select"], sys.maxsize, job["sampled_s"])


async def warm_up(job, things, checks):
    await things.begin()
    await things.insert(*job["things"][0])
    await things.rollback()
    await things.begin()
    checks.before(await things.select())
    for x in job["points"][:3]:
        checks.point(x, await things.point(x))
    checks.wides(await things.wide())


async def insert(things, rows):
    for x, y, z in rows:
        await things.insert(x, y, z)
    await things.point(rows[0][0])  # whose answer comes after all others, of drivers too that don't wait for each
    return len(rows), 0


async def repeat(statement, times, most_s):
    until, done, rows = phases.now() + most_s * 1e9, 0, 0
    while done < times and phases.now() < until:
        rows += await statement()
        done += 1
    return done, rows


def selecting(things, checks):
    async def select():
        rows = await things.select()
        phases.exhaust(map(checks.touch_thing, rows))
        return len(rows)

    return select


def pointing(things, checks, job):
    points = cycle(job["points"])

    async def point():
        checks.touch_thing(await things.point(next(points)))
        return 1

    return point


def widening(things, checks):
    async def wide():
        rows = await things.wide()
        phases.exhaust(map(checks.touch_wide, rows))
        return len(rows)

    return wide


if __name__ == "__main__":
    asyncio.get_event_loop_policy().new_event_loop().run_until_complete(main())
