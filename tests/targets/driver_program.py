"""Uses all that `driver.py` beside it offers, and says what came of it. Python 2.7 on.

What is to be called is yielded, so that the same steps do for functions and, sent by `awaiting.py`, for coroutines.
"""

import json
import os
import socket
import stat
import sys

import driver

MORE = [[number, "many", float(number)] for number in range(10, 15)]


def main():
    job = json.load(sys.stdin)
    steps = (sql if hasattr(driver, "PLACEHOLDER") else things)(job)
    if job["calls"] == "async":
        import awaiting

        found = awaiting.run(steps)
    else:
        found = run(steps)
    print(json.dumps(found))


def run(steps):
    called = next(steps)
    while not isinstance(called, Found):
        called = steps.send(called)
    return called


class Found(dict):
    """What is known at the end."""


def sql(job):
    found = Found()
    marks = ["$1", "$2", "$3"] if driver.PLACEHOLDER == "$1" else [driver.PLACEHOLDER] * 3
    insert = "INSERT INTO test_things (x, y, z) VALUES ({})".format(", ".join(marks))
    count = "SELECT count(*) FROM test_things"
    connection = yield driver.connect(job["url"])
    found["ran"], found["peer"] = driver.ran(connection), peer(connection.fileno())

    none = []
    for thing in job["things"]:
        none.extend((yield connection.execute(insert, thing)))
    found["none"] = len(none)
    rows = yield connection.execute("SELECT * FROM test_things ORDER BY x")
    found["select"] = [[row[0], row[1], row[2]] for row in rows]
    rows = yield connection.execute("SELECT x, y, z FROM test_things WHERE x = " + marks[0], (2,))
    found["point"] = [[row[0], row[1], row[2]] for row in rows]
    rows = yield connection.execute("SELECT * FROM test_wide ORDER BY id")
    found["wide"] = [[row[column] for column in range(31)] for row in rows]
    other = yield driver.connect(job["url"])
    found["others see"] = [(yield other.execute(count))[0][0]]
    yield connection.executemany(insert, MORE)
    found["others see"].append((yield other.execute(count))[0][0])

    for end in ("rollback", "commit"):
        yield connection.begin()
        for thing in job["things"][:2]:
            yield connection.execute(insert, thing)
        found["within"] = (yield connection.execute(count))[0][0]
        found["others see"].append((yield other.execute(count))[0][0])
        yield getattr(connection, end)()
        found["others see"].append((yield other.execute(count))[0][0])
    yield connection.execute(insert, job["things"][0])  # by itself again
    found["others see"].append((yield other.execute(count))[0][0])

    if hasattr(connection, "copy"):
        yield connection.copy("test_things", ["x", "y", "z"], MORE)
        found["copied"] = (yield other.execute(count))[0][0]
    if hasattr(connection, "pipeline"):
        yield connection.pipeline([(insert, thing) for thing in job["things"]])
        found["piped"] = (yield other.execute(count))[0][0]
    yield connection.execute("DELETE FROM test_things")
    yield connection.close()

    try:
        implicit = yield driver.connect(job["url"], autocommit=False)
    except ValueError as error:
        found["refused"] = str(error)
    else:
        found["implicit"] = [driver.ran(implicit)["autocommit"]]
        for end in ("rollback", "commit"):
            yield implicit.execute(insert, job["things"][0])
            yield getattr(implicit, end)()
            found["implicit"].append((yield other.execute(count))[0][0])
        yield implicit.close()
    yield other.close()
    yield found


def things(job):
    found = Found()
    opened = yield driver.connect(job["url"])
    found["ran"], found["peer"] = driver.ran(opened), peer(opened.fileno())
    yield opened.begin()
    for x, y, z in job["things"]:
        yield opened.insert(x, y, z)
    found["select"] = [[thing.x, thing.y, thing.z] for thing in (yield opened.select())]
    yield opened.rollback()
    yield opened.begin()
    found["rolled back"] = len(list((yield opened.select())))
    point = yield opened.point(2)
    found["point"] = [[point.x, point.y, point.z]]
    found["wide"] = [[getattr(row, name) for name in job["wide"]] for row in (yield opened.wide())]
    yield opened.insert(*job["things"][0])
    yield opened.rollback()
    yield opened.close()
    yield found


def peer(fileno):
    """Return the port that a socket is connected to."""
    if fileno is None or not stat.S_ISSOCK(os.fstat(fileno).st_mode):
        return fileno
    return socket.fromfd(fileno, socket.AF_INET, socket.SOCK_STREAM).getpeername()[1]


main()
