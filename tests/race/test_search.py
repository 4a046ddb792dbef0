"""The search alone, over sessions that only count their steps."""

import math

import pytest

from iobound.race.reduction import Reduced, pure, rows_only
from iobound.race.search import Diverged, Search, default


def carry_out(trial, programs):
    """Run sessions that are lists of (kind, SQL)."""
    at = [0] * len(programs)
    while pending := {n: program[at[n]] for n, program in enumerate(programs) if at[n] < len(program)}:
        at[trial.choose(pending)] += 1
    return tuple(trial.schedule)


def schedules(search, programs):
    found, order = [], []
    while prefix := search.next():
        trial = search.begin(prefix)
        schedule = carry_out(trial, programs)
        search.explored(trial)
        if not trial.redundant:
            found.append(schedule)
            order.append(prefix.preemptions)
    return found, order


def steps(*texts):
    return [({"begin": "begin", "commit": "commit"}.get(text, "statement"), text) for text in texts]


@pytest.mark.parametrize("lengths", [(4, 4), (2, 3, 2), (1, 1, 1, 1), (5, 0)])
def test_every_interleaving_once_with_few_preemptions_first(lengths):
    found, order = schedules(Search(), [steps(*(f"s{n}" for n in range(length))) for length in lengths])
    assert len(found) == len(set(found)) == math.factorial(sum(lengths)) // math.prod(map(math.factorial, lengths))
    assert order == sorted(order)


def test_the_same_choices_must_lead_to_the_same_statements():
    search = Search()
    programs = [steps("a", "b"), steps("c", "d")]
    first = search.begin(search.next())
    carry_out(first, programs)
    search.explored(first)
    with pytest.raises(Diverged, match=r"'x'|x"):
        carry_out(search.begin(search.next()), [steps("a", "x"), steps("x", "d")])


def test_a_session_that_loops_gives_way():
    assert default([0, 1], [0] * 39) == 0
    assert default([0, 1], [0] * 40) == 1
    assert default([0], [0] * 40) == 0


@pytest.mark.parametrize("sql", ["SELECT v FROM t", "select count(*), max(v) from t where id in (1, 2)"])
def test_pure_reads(sql):
    assert pure(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT v FROM t FOR UPDATE",
        "SELECT transfer(1)",
        "SELECT nextval('s')",
        "SELECT 1; DELETE FROM t",
        "UPDATE t SET v = 1",
    ],
)
def test_not_pure(sql):
    assert not pure(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE t SET v = coalesce(v, 0) + 1 WHERE id IN (1, 2)",
        "INSERT INTO t (id, v) VALUES (1, now()) ON CONFLICT (id) DO NOTHING",
        "SELECT pg_advisory_xact_lock(1)",
        "WITH gone AS (DELETE FROM t RETURNING v) SELECT sum(v) FROM gone",
    ],
)
def test_rows_only(sql):
    assert rows_only(sql)


@pytest.mark.parametrize(
    "sql",
    ["LOCK TABLE t", "ALTER TABLE t ADD n int", "TRUNCATE t", "SELECT bump()", "CALL bump()", "UPDATE t SET v = 1; COMMIT"],
)
def test_more_than_rows(sql):
    assert not rows_only(sql)


def test_a_lock_of_the_table_goes_before_and_after_each_read():
    reader = steps("SELECT a FROM t", "SELECT b FROM t")
    found, _ = schedules(Reduced(strict=False), [steps("begin", "LOCK TABLE t", "UPDATE t SET v = 1", "commit"), reader])
    before_the_lock = {"".join(map(str, schedule)).replace("0", "", 1).index("0") for schedule in found}
    assert before_the_lock == {0, 1, 2}


def test_what_is_open_ends_where_another_transaction_begins():
    """On MariaDB and MySQL BEGIN commits, so that a read matters before and after it."""
    writer = steps("UPDATE t SET v = 1", "begin")
    found, _ = schedules(Reduced(strict=False), [writer, steps("SELECT v FROM t")])
    assert len(found) == 3


def model(schedule, programs, *, snapshot):
    """What a tiny database with one counter comes to: reads see what is committed, at once or as of the first read."""
    committed, at = 0, [0] * len(programs)
    read, written, seen = {}, {}, {}
    for session in schedule:
        kind, text = programs[session][at[session]]
        at[session] += 1
        if text.startswith("SELECT"):
            read[session] = seen.setdefault(session, committed) if snapshot else committed
        elif text.startswith("UPDATE"):
            written[session] = read.get(session, committed) + 1
        elif kind == "commit" and session in written:
            committed = written.pop(session)
    return committed, tuple(sorted(read.items()))


@pytest.mark.parametrize("snapshot", [False, True])
@pytest.mark.parametrize("sessions", [2, 3])
def test_the_reduction_leaves_out_no_outcome(sessions, snapshot):
    program = steps("begin", "SELECT v FROM t", "UPDATE t SET v = 1", "commit")
    programs = [program] * sessions
    every, _ = schedules(Search(), programs)
    fewer, _ = schedules(Reduced(strict=False), programs)
    outcomes = {model(schedule, programs, snapshot=snapshot) for schedule in every}
    assert {model(schedule, programs, snapshot=snapshot) for schedule in fewer} == outcomes
    assert len(fewer) < len(every) / 2
    assert set(fewer) <= set(every)


def test_strictly_more_is_tried():
    programs = [steps("begin", "SELECT v FROM t", "UPDATE t SET v = 1", "commit")] * 2
    loose, _ = schedules(Reduced(strict=False), programs)
    strict, _ = schedules(Reduced(strict=True), programs)
    assert len(loose) < len(strict)


def test_independent_steps_have_one_order():
    found, _ = schedules(Reduced(strict=False), [steps("SELECT a FROM t", "SELECT b FROM t")] * 3)
    assert len(found) == 1
