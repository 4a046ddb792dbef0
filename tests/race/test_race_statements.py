import pytest

from iobound.race.statements import kind, several, shape


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
        ("SET @seen = (SELECT v FROM t)", "statement"),
        ("SELECT c.relname FROM pg_class c, t", "statement"),
        ("SELECT pg_advisory_lock(oid::bigint) FROM pg_class WHERE relname = 't'", "statement"),
        ("BEGIN; UPDATE t SET v = 1; COMMIT", "statement"),
        ("SET autocommit = 1", "commit"),
        ("SET CONSTRAINTS ALL IMMEDIATE", "statement"),
        ("PREPARE TRANSACTION 'a'", "statement"),
        ("COMMIT PREPARED 'a'", "statement"),
        ("COMMIT TRANSACTION", "commit"),
        *((f"SELECT v FROM {name} WHERE id = 1", "statement") for name in ('"user"', "version", "`schema`", "any", "char")),
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


@pytest.mark.parametrize(
    ("one", "another"),
    [
        ("INSERT INTO thing VALUES ('2026-11-30', 7)", "INSERT INTO thing VALUES ('2026-12-01', 8)"),
        ('SAVEPOINT "s139907_x1"', 'SAVEPOINT "s140211_x3"'),
        ("ROLLBACK TO __asyncpg_savepoint_a__;", "ROLLBACK TO __asyncpg_savepoint_34__;"),
    ],
)
def test_what_differs_between_executions_is_not_in_the_shape(one, another):
    assert shape(one) == shape(another)


def test_what_is_done_is_in_the_shape():
    assert shape("SAVEPOINT a") != shape("RELEASE SAVEPOINT a")
    assert shape("DELETE FROM thing") != shape("DELETE FROM other")


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("UPDATE thing SET v = 1; UPDATE other SET v = 1", True),
        ("SELECT v FROM thing; DELETE FROM thing;", True),
        ("CALL bump()", True),
        ("DO $$ BEGIN PERFORM bump(); END $$", True),
        ("BEGIN; UPDATE thing SET v = ';'; COMMIT", False),
        ("SELECT bump()", False),
        ("CREATE FUNCTION f() RETURNS void LANGUAGE sql AS $$ SELECT 1; SELECT 2 $$", False),
    ],
)
def test_a_request_may_hold_several_statements(sql, expected):
    assert several(sql) is expected
