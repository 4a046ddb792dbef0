import pytest

from iobound.race.statements import kind


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("BEGIN", "begin"),
        ("begin isolation level serializable;", "begin"),
        ("/* hi */ START TRANSACTION", "begin"),
        ("COMMIT", "commit"),
        ("ROLLBACK", "rollback"),
        ("ROLLBACK TO SAVEPOINT a", "savepoint"),
        ("RELEASE SAVEPOINT a", "savepoint"),
        ("SELECT v FROM t", "statement"),
        ("SELECT max(path) FROM node", "statement"),
        ("SELECT 2", "statement"),
        ("SELECT transfer(1, 2)", "statement"),
        ("SELECT pg_advisory_lock(1)", "statement"),
        ("SELECT GET_LOCK('a', 1)", "statement"),
        ("WITH gone AS (DELETE FROM t RETURNING *) SELECT * FROM gone", "statement"),
        ("INSERT INTO t VALUES ('; COMMIT')", "statement"),
        ("BEGIN; UPDATE t SET v = 1; COMMIT", "statement"),
    ],
)
def test_steps(sql, expected):
    assert kind(sql) == expected


@pytest.mark.parametrize(
    "sql",
    [
        "",
        ";",
        "SELECT 1",
        "SET autocommit = 0",
        "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
        "SHOW VARIABLES LIKE 'sql_mode'",
        "SELECT @@transaction_isolation",
        "SELECT pg_catalog.version()",
        "SELECT CAST('test plain returns' AS CHAR(60)) AS anon_1",
        "SELECT pg_advisory_unlock_all();\nCLOSE ALL;\nUNLISTEN *;\nRESET ALL;",
        "DISCARD ALL",
        "SELECT n.nspname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace",
    ],
)
def test_set_up(sql):
    assert kind(sql) is None
