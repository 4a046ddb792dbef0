"""Anomalies by construction: executions written by hand, each the textbook case of its name."""

import pytest

from iobound.race import anomaly
from iobound.records.race import Execution, Step

KINDS = {"BEGIN": "begin", "COMMIT": "commit", "ROLLBACK": "rollback"}


def execution(*lines):
    """Each line is (session, SQL) or (session, SQL, rows or rows changed)."""
    steps = []
    for session, sql, *more in lines:
        answer = more[0] if more else None
        rows = (
            {"columns": ["v"], "rows": [[str(value)] for value in answer]} if isinstance(answer, list) else {"affected": answer}
        )
        index = sum(step.session == session for step in steps)
        kind = KINDS.get(sql, "statement")
        steps.append(
            Step(session=session, index=index, kind=kind, sql=sql, connection=session, answered=len(steps) + 1, **rows)
        )
    return Execution(schedule=[step.session for step in steps], steps=steps, outcomes=[])


def both(*lines):
    return execution((0, "BEGIN"), (1, "BEGIN"), *lines)


@pytest.mark.parametrize(
    ("history", "name", "stale"),
    [
        (
            both(
                (0, "SELECT v FROM t WHERE id = 1", [10]),
                (1, "SELECT v FROM t WHERE id = 1", [10]),
                (1, "UPDATE t SET v = 11 WHERE id = 1", 1),
                (1, "COMMIT"),
                (0, "UPDATE t SET v = 11 WHERE id = 1", 1),
                (0, "COMMIT"),
            ),
            anomaly.LOST_UPDATE,
            2,
        ),
        (
            both(
                (0, "SELECT count(*) FROM member WHERE role = 'admin'", [2]),
                (1, "SELECT count(*) FROM member WHERE role = 'admin'", [2]),
                (0, "UPDATE member SET role = 'user' WHERE id = 1", 1),
                (1, "UPDATE member SET role = 'user' WHERE id = 2", 1),
                (0, "COMMIT"),
                (1, "COMMIT"),
            ),
            anomaly.WRITE_SKEW,
            2,
        ),
        (
            both(
                (0, "SELECT count(*) FROM application WHERE voucher = 1", [0]),
                (1, "SELECT count(*) FROM application WHERE voucher = 1", [0]),
                (0, "INSERT INTO application VALUES (1)", 1),
                (1, "INSERT INTO application VALUES (1)", 1),
                (0, "COMMIT"),
                (1, "COMMIT"),
            ),
            anomaly.PHANTOM,
            2,
        ),
        (
            both(
                (0, "SELECT v FROM t WHERE id = 1", [10]),
                (1, "UPDATE t SET v = 11 WHERE id = 1", 1),
                (1, "UPDATE t SET v = 19 WHERE id = 2", 1),
                (1, "COMMIT"),
                (0, "SELECT v FROM t WHERE id = 2", [19]),
                (0, "COMMIT"),
            ),
            anomaly.READ_SKEW,
            2,
        ),
        (
            both(
                (1, "UPDATE t SET v = 11 WHERE id = 1", 1),
                (0, "SELECT v FROM t WHERE id = 1", [11]),
                (0, "COMMIT"),
                (1, "COMMIT"),
            ),
            anomaly.DIRTY_READ,
            3,
        ),
        (
            both(
                (1, "UPDATE t SET v = 11 WHERE id = 1", 1),
                (0, "SELECT v FROM t WHERE id = 1", [11]),
                (0, "COMMIT"),
                (1, "ROLLBACK"),
            ),
            anomaly.ABORTED_READ,
            3,
        ),
    ],
    ids=["P4", "G2-item", "G2", "G-single", "G1b", "G1a"],
)
def test_textbook(history, name, stale):
    level = "read uncommitted" if name in (anomaly.DIRTY_READ, anomaly.ABORTED_READ) else None
    assert anomaly.find(history, level) == anomaly.Named(name, stale)


def test_one_after_the_other_is_none():
    history = execution(
        (0, "BEGIN"),
        (0, "SELECT v FROM t WHERE id = 1", [10]),
        (0, "UPDATE t SET v = 11 WHERE id = 1", 1),
        (0, "COMMIT"),
        (1, "BEGIN"),
        (1, "SELECT v FROM t WHERE id = 1", [11]),
        (1, "UPDATE t SET v = 12 WHERE id = 1", 1),
        (1, "COMMIT"),
    )
    assert anomaly.find(history) is None


def test_what_was_rolled_back_took_no_part():
    history = both(
        (0, "SELECT v FROM t WHERE id = 1", [10]),
        (1, "UPDATE t SET v = 11 WHERE id = 1", 1),
        (1, "ROLLBACK"),
        (0, "UPDATE t SET v = 11 WHERE id = 1", 1),
        (0, "COMMIT"),
    )
    assert anomaly.find(history) is None


def test_functions_hide_what_they_do():
    history = both((0, "SELECT transfer(1, 2)", [1]), (1, "SELECT transfer(2, 1)", [1]), (0, "COMMIT"), (1, "COMMIT"))
    assert anomaly.find(history) is None
