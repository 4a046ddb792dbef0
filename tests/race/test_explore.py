"""How many schedules there are, go wrong or are aborted is known for each of these, by counting or from reports."""

import pytest
import race_functions as functions

from iobound import race


def explored(function, **more):
    report = race.explore(function, **{"setup": functions.ONE_COUNTER, "invariant": functions.counts, **more})
    return report, {level.isolation: (level.schedules, level.violations, level.outcomes) for level in report.levels}


def test_lost_update_on_postgresql_by_level():
    report, found = explored(functions.increment, isolation=["read committed", "repeatable read", "serializable"])
    aborts = {"committed": 60, "serialization-failure": 40}
    assert found == {
        "read committed": (50, 40, {"committed": 100}),
        "repeatable read": (50, 0, aborts),
        "serializable": (50, 0, aborts),
    }
    assert [level.verdict for level in report.levels] == ["violated", "holds", "holds"]
    assert report.verdict == "violated"
    assert all(level.exhaustive and not level.reduced for level in report.levels)
    assert report.anomaly == "P4 (lost update)"
    with pytest.raises(race.Violated, match="stale read"):
        report.assert_holds()


def test_the_example_has_fewest_preemptions_and_says_where_it_is():
    report, _ = explored(functions.increment)
    execution = report.example.execution
    assert execution.schedule == [0, 0, 1, 1, 1, 1, 0, 0]
    assert [step.kind for step in execution.steps[:4]] == ["begin", "statement", "begin", "statement"]
    assert execution.steps[1].rows == [["0"]]
    assert "race_functions.py:" in execution.steps[1].source
    assert execution.state == {"counter": [["id", "value"], ["1", "1"], ["2", "0"]]}
    assert report.example.stale == 1


def test_for_update_holds():
    report, found = explored(functions.increment_locked)
    assert found == {None: (24, 0, {"committed": 48})}
    assert "holds (24/24 schedules, exhaustive)" in str(report)
    report.assert_holds()


def test_without_invariant_a_serial_order_must_explain_the_outcome():
    report, found = explored(functions.increment, invariant=None, isolation=["read committed", "repeatable read"])
    assert {level: counts[:2] for level, counts in found.items()} == {"read committed": (50, 40), "repeatable read": (50, 0)}
    assert (
        report.example.reason == "the outcome is that of no serial order: counter has (1, 1), (2, 0), serially (1, 2), (2, 0)"
    )


def test_deadlocks_of_opposite_orders_on_postgresql():
    _, found = explored(functions.swap, sessions=[(1, 2), (2, 1)], invariant=None)
    assert found == {None: (30, 0, {"committed": 48, "deadlock": 12})}


def test_session_lock_released_before_the_commit():
    _, found = explored(functions.advisory_lock)
    assert found[None][:2] == (122, 72)


def test_lost_update_on_mariadb_by_level():
    _, found = explored(
        functions.increment_mysql, database="mariadb", isolation=["read committed", "repeatable read", "serializable"]
    )
    assert found == {
        "read committed": (50, 40, {"committed": 100}),
        "repeatable read": (50, 40, {"committed": 100}),
        "serializable": (30, 0, {"committed": 48, "deadlock": 12}),
    }


def test_deadlocks_of_opposite_orders_on_mariadb():
    _, found = explored(functions.swap_mysql, sessions=[(1, 2), (2, 1)], invariant=None, database="mariadb")
    assert found == {None: (30, 0, {"committed": 48, "deadlock": 12})}


def test_gap_locks_of_mariadb_deadlock_since_tables_are_truncated():
    _, found = explored(
        functions.get_or_create_mysql,
        setup="""
            DROP TABLE IF EXISTS docket;
            CREATE TABLE docket (id integer AUTO_INCREMENT PRIMARY KEY, number integer, KEY (number))
        """,
        invariant=lambda db: db.scalar("SELECT count(*) FROM docket") == 1,
        database="mariadb",
    )
    assert found == {None: (30, 0, {"committed": 48, "deadlock": 12})}


def test_a_deferred_transaction_on_sqlite_is_refused():
    report, found = explored(functions.increment_sqlite, sessions=["BEGIN", "BEGIN"], database="sqlite")
    schedules, violations, outcomes = found[None]
    assert (schedules, violations) == (50, 0)
    assert outcomes["committed"] == 60
    assert outcomes["snapshot-conflict"] > 0
    assert report.verdict == "holds"


def test_begin_immediate_on_sqlite_waits():
    _, found = explored(functions.increment_sqlite, sessions=["BEGIN IMMEDIATE", "BEGIN IMMEDIATE"], database="sqlite")
    assert found[None][1:] == (0, {"committed": 16})


def test_implicit_transactions_of_sqlite_lose_updates():
    report, found = explored(functions.increment_sqlite_implicitly, database="sqlite")
    assert found == {None: (14, 12, {"committed": 28})}
    assert report.example.execution.steps[0].rows == [["0"]]


def test_the_same_schedules_violate_every_time():
    first, _ = explored(functions.increment)
    for _ in range(4):
        again, _ = explored(functions.increment)
        assert again.levels[0].violating == first.levels[0].violating


def test_an_incomplete_search_never_holds():
    report, _ = explored(functions.increment_locked, sessions=3, max_schedules=1)
    assert report.verdict == "incomplete"
    with pytest.raises(race.Violated):
        report.assert_holds()


@pytest.mark.parametrize(
    ("function", "database"),
    [(functions.increment, None), (functions.increment_locked, None), (functions.increment_mysql, "mariadb")],
)
@pytest.mark.parametrize("isolation", ["read committed", "repeatable read", "serializable"])
def test_the_reduced_search_comes_to_the_same_verdict(function, database, isolation):
    whole, _ = explored(function, database=database, isolation=isolation)
    fewer, _ = explored(function, database=database, isolation=isolation, max_schedules=3)
    [all_of_it], [part_of_it] = whole.levels, fewer.levels
    assert (all_of_it.reduced, part_of_it.reduced) == (False, True)
    assert part_of_it.exhaustive
    assert part_of_it.verdict == all_of_it.verdict
    assert part_of_it.schedules < all_of_it.schedules
    assert {tuple(schedule) for schedule in part_of_it.violating} <= {tuple(schedule) for schedule in all_of_it.violating}
    assert part_of_it.outcomes.keys() == all_of_it.outcomes.keys()


def test_three_sessions_of_four_statements_by_reduction():
    report, _ = explored(functions.increment, sessions=3)
    [level] = report.levels
    assert (level.verdict, level.exhaustive, level.reduced) == ("violated", True, True)
    assert level.schedules < 200  # of 13,830, of which 13,560 lose an update
