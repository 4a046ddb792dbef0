"""Public reports of races, and variants of them that hold or only seem to: `iobound race` must judge each one rightly.

Each module here is one report, or a family of variants: functions with a ``@race.case``, and `EXPECTED`, which says by
function, database and isolation level what must be found: the verdict, violating and all schedules where they are known, and
how many sessions the database aborts.
"""

import re
from importlib import import_module
from pathlib import Path

import pytest

from iobound import race
from iobound.lab.service import find
from iobound.race.cases import ATTRIBUTE

EXPECTED = re.compile(r"(?P<verdict>\w+)(?: (?:(?P<violations>\d+)/)?(?P<schedules>\d+))?(?:, (?P<aborts>\d+) (?P<kind>\S+))?")
EXHAUSTIVE = 200
REDUCED = 40  # where no number is known, more than these are explored by reduction, which finds the same and is faster
MODULES = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if "\nEXPECTED = {" in path.read_text())
CASES = [
    pytest.param(function, database, level, expected, id=f"{module}-{function.__name__}-{database}-{level}".replace(" ", "_"))
    for module in MODULES
    for function, databases in import_module(module).EXPECTED.items()
    for database, levels in databases.items()
    for level, expected in levels.items()
]


def with_snapshots(setup, switch):
    """Turn MariaDB's snapshot isolation on or off for the sessions to come."""

    def prepared(db):
        db.execute(f"SET GLOBAL innodb_snapshot_isolation = {switch}")
        setup(db)

    return prepared


@pytest.mark.parametrize(("function", "database", "level", "expected"), CASES)
def test_verdict(function, database, level, expected):
    service, _, switch = database.partition(" ")
    if find(service).unavailable():
        pytest.skip(find(service).unavailable())
    setup = getattr(function, ATTRIBUTE).setup
    wanted = EXPECTED.fullmatch(expected)
    report = race.explore(
        function,
        database=service,
        setup=with_snapshots(setup, switch.upper()) if switch else setup,
        isolation=level,
        max_schedules=EXHAUSTIVE if wanted["schedules"] else REDUCED,
    )
    (found,) = report.levels
    assert found.verdict == wanted["verdict"], report
    if found.verdict == "holds":
        assert found.exhaustive
    if wanted["violations"]:
        assert found.violations == int(wanted["violations"]), report
    if wanted["schedules"]:
        assert found.schedules == int(wanted["schedules"]), report
    if wanted["aborts"]:
        assert found.outcomes[wanted["kind"]] == int(wanted["aborts"]), report


def test_a_deadlock_has_the_same_victim_every_time():
    import bulk_update_lock_order

    found = [race.explore(bulk_update_lock_order.mark, database="postgresql").levels[0].violating for _ in range(4)]
    assert all(violating == found[0] for violating in found)


@pytest.mark.parametrize("model", ["threads", "asyncio", "gevent"])
def test_whom_a_python_lock_wakes_goes_on_every_time(model):
    import variants_locks
    import variants_stacks

    locked = {"asyncio": variants_stacks.asyncio_lock_inside_the_transaction}
    function = locked.get(model, variants_locks.python_lock_released_before_commit)
    database = "mariadb" if model == "gevent" else "postgresql"  # a driver in C doesn't cooperate
    found = [race.explore(function, database=database, model=model).levels[0] for _ in range(4)]
    assert {(level.violations, level.schedules) for level in found} == {(12, 20)}
    assert all(level.violating == found[0].violating for level in found)


def test_all_reports_are_here():
    assert len([name for name in MODULES if not name.startswith("variants_")]) == 25
