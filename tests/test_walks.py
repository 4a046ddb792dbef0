"""A walk changes one factor at a time, from the one target to the other, and says where it can't."""

from __future__ import annotations

from collections import Counter

import pytest

from iobound.errors import UsageError
from iobound.lab import catalogue
from iobound.lab.commands import CommandTarget
from iobound.records import Workload
from iobound.walks import COLOUR, PROGRAM, Change, Ways, walk, walk_of_commands

PLAIN = Workload(name="plain")
ENDS = [
    ("flask-as-published", "starlette-as-published"),
    ("flask-as-published", "aiohttp-as-published"),
    ("flask-file-as-published", "starlette-file-as-published"),
    ("flask-sql-as-published", "starlette-sql-as-published"),
    ("flask-sql-as-published@postgresql", "starlette-sql-as-published@postgresql"),
    ("flask-redis-as-published", "starlette-redis-as-published"),
    ("flask/gunicorn-gthread/psycopg", "fastapi/uvicorn-uvloop/asyncpg"),
    ("django/waitress/django-psycopg", "starlette/uvicorn-uvloop/sqlalchemy-asyncpg"),
]


def ways(first: str, last: str) -> Ways:
    own = catalogue.own()
    return Ways(own, own.find(first), own.find(last))


def parts(change: Change) -> tuple[set[str], set[str]]:
    """What is only before a step, and what is only after it: parts of targets and settings."""
    before, after = (
        {*change.start.key[0].split("/"), *change.start.key[1:]},
        {*change.end.key[0].split("/"), *change.end.key[1:]},
    )
    return before - after, after - before


@pytest.mark.parametrize(("first", "last"), ENDS)
@pytest.mark.parametrize("order", ["forwards", "backwards"])
def test_the_steps_lead_from_the_one_to_the_other(first: str, last: str, order: str):
    steps: list[Change] = getattr(ways(first, last), order)()
    passed = Counter(step.end.key for step in steps)
    passed.subtract(step.start.key for step in steps)
    assert {key: count for key, count in passed.items() if count} == {(first,): -1, (last,): 1}
    assert all(step.start.key != step.end.key for step in steps)


@pytest.mark.parametrize(("first", "last"), ENDS[:6])
def test_a_step_changes_what_it_says_and_nothing_else(first: str, last: str):
    for step in ways(first, last).forwards():
        gone, come = parts(step)
        match step.factors:
            case ("program",):
                assert step.start.key[0].endswith(("-as-published", "@postgresql")) != step.end.key[0].endswith(
                    ("-as-published", "@postgresql")
                )
            case ("server",) | ("data layer",) | ("driver",) | ("event loop and parser",):
                assert len({part for part in gone if "=" not in part}) == 1
            case ("framework",):
                servers = {part for part in gone | come if part.startswith("granian")}
                assert len({part for part in gone if "=" not in part} - servers) == 1
            case (factor,) if factor != COLOUR:
                assert len(gone) == len(come) == 1
                assert "=" in min(gone) and "=" in min(come)


@pytest.mark.parametrize(("first", "last"), ENDS)
def test_sync_or_async_is_a_step_of_its_own_and_the_last(first: str, last: str):
    steps = ways(first, last).forwards()
    if any(COLOUR in step.factors and len(step.factors) > 1 for step in steps):
        pytest.fail(f"{[step.factors for step in steps]}")
    assert steps[-1].factors == (COLOUR,)
    start, end = steps[-1].start.key[0].split("/"), steps[-1].end.key[0].split("/")
    assert start[1] == end[1]
    frameworks = catalogue.own().frameworks
    assert (frameworks[start[0]].description.calls, frameworks[end[0]].description.calls) == ("sync", "async")
    assert frameworks[start[0]].description.twin == end[0]


def test_two_that_differ_in_the_swap_alone():
    (step,) = ways("fastapi-sync/uvicorn-uvloop/psycopg", "fastapi/uvicorn-uvloop/psycopg-async").forwards()
    assert step.factors == (COLOUR,)


def test_what_cannot_be_changed_alone_is_said():
    (made,) = walk(catalogue.own(), ("tornado/tornado", "blacksheep/hypercorn"), PLAIN, 10).walks
    assert [step.factor for step in made.forwards] == ["framework and server"]
    assert made.notes == ["framework and server can't be changed alone here"]
    assert made.backwards == []


def test_the_swap_is_made_alone_where_neither_end_has_a_twin():
    (made,) = walk(catalogue.own(), ("flask/waitress", "sanic/sanic"), PLAIN, 10).walks
    assert made.forwards[-1].factor == COLOUR
    assert any("stands last, though" in note for note in made.notes)


def test_the_event_loop_is_a_step_of_its_own():
    for first, last in [
        ("fastapi/granian-asgi", "fastapi/uvicorn-asyncio"),
        ("starlette/uvicorn-asyncio", "sanic/sanic"),
        ("flask-as-published", "starlette-as-published"),
    ]:
        (made,) = walk(catalogue.own(), (first, last), PLAIN, 10, both_ways=False).walks
        (step,) = [step for step in made.forwards if "event loop" in step.factor]
        assert step.factor == "event loop and parser"
        ends = {"uvicorn on uvloop with httptools", "uvicorn on asyncio with h11"}
        assert {step.before, step.after} == ends


def test_workers_of_one_server_differ_in_their_class():
    (made,) = walk(catalogue.own(), ("flask/gunicorn-sync", "flask/gunicorn-gevent"), PLAIN, 10).walks
    assert [step.factor for step in made.forwards] == ["worker class"]


def test_another_service_is_a_factor_that_comes_with_another_driver():
    ends = ("flask/waitress/psycopg", "flask/waitress/pymysql")
    (made,) = walk(catalogue.own(), ends, Workload(name="sql-list"), 10).walks
    assert [(step.factor, step.before, step.after) for step in made.forwards] == [
        ("data layer and service", "psycopg 3", "PyMySQL")
    ]
    assert made.notes == ["data layer and service can't be changed alone here"]


def test_levels_are_told_in_words():
    (made,) = walk(catalogue.own(), ENDS[0], PLAIN, 10).walks
    told = {(step.factor, step.before, step.after) for step in made.forwards}
    assert ("program", "flask-as-published", "flask/werkzeug") in told
    assert ("server", "Werkzeug's development server", "granian (WSGI)") in told
    assert ("keep-alive", "off", "on") in told
    assert (COLOUR, "Starlette, sync handlers", "Starlette") in told
    assert (
        "flask-as-published is walked as what comes nearest to it: flask/werkzeug, access log on, keep-alive off" in made.notes
    )


def test_every_step_and_the_direct_pair_have_their_comparison():
    question = walk(catalogue.own(), ENDS[0], PLAIN, 7, tool="locust:HttpUser")
    (made,) = question.walks
    comparisons = {comparison.id: comparison for comparison in question.comparisons}
    cells = {cell.id: cell for cell in question.cells}
    assert len(cells) == len(question.cells)
    for step in [*made.forwards, *made.backwards]:
        assert len(comparisons[step.comparison].cells) == 2
    assert [cells[id_].target for id_ in comparisons[made.direct].cells] == list(ENDS[0])
    assert comparisons[made.direct].control
    assert made.tool
    assert {cells[id_].engine for id_ in comparisons[made.tool].cells} == {"locust:HttpUser"}
    assert {cell.concurrency for cell in question.cells} == {7}
    asked = [
        (cells[a].target, cells[a].settings, cells[b].target, cells[b].settings, cells[a].engine)
        for a, b in (comparison.cells for comparison in question.comparisons)
    ]
    assert all(asked.count(pair) == 1 for pair in asked)


@pytest.mark.parametrize(
    ("first", "last", "workload", "says"),
    [
        ("flask-as-publishd", "starlette-as-published", "plain", "did you mean flask-as-published"),
        ("flask-as-published", "flask-as-published", "plain", "both ends"),
        ("flask-as-published", "starlette-as-published", "sql-list", "doesn't serve the workload sql-list"),
        ("flask/waitress", "starlette-sql-create-working", "plain", "doesn't serve"),
    ],
)
def test_refuses(first: str, last: str, workload: str, says: str):
    with pytest.raises(UsageError, match=says):
        walk(catalogue.own(), (first, last), Workload(name=workload), 10)


def test_a_program_whose_parts_are_not_known_is_refused():
    with pytest.raises(UsageError, match=r"no table \[tool.iobound.like\]"):
        walk(catalogue.own(), ("flask/waitress/pymysql", "starlette-sql-create-working"), Workload(name="sql-insert"), 10)


def test_commands_change_one_variable_at_a_time_and_last_the_command():
    a, b = CommandTarget("A", ["a", "{port}"], []), CommandTarget("B", ["b", "{port}"], [])
    question = walk_of_commands(a, b, {"WORKERS": ("1", "4"), "POOL": ("5", "20")}, Workload(name="/"), 10)
    (made,) = question.walks
    assert [step.factor for step in made.forwards] == ["WORKERS", "POOL", "command"]
    assert [step.factor for step in made.backwards] == ["command", "POOL", "WORKERS"]
    assert (made.first, made.last) == ("A with WORKERS=1, POOL=5", "B with WORKERS=4, POOL=20")
    cells = {cell.id: cell for cell in question.cells}
    comparisons = {comparison.id: comparison for comparison in question.comparisons}
    settings = [[cells[id_].settings for id_ in comparisons[step.comparison].cells] for step in made.forwards]
    assert settings == [
        [{"WORKERS": "1", "POOL": "5"}, {"WORKERS": "4", "POOL": "5"}],
        [{"WORKERS": "4", "POOL": "5"}, {"WORKERS": "4", "POOL": "20"}],
        [{"WORKERS": "4", "POOL": "20"}, {"WORKERS": "4", "POOL": "20"}],
    ]


def test_one_command_ends_with_its_last_variable():
    a = CommandTarget("A", ["a", "{port}"], [])
    (made,) = walk_of_commands(a, a, {"WORKERS": ("1", "4")}, Workload(name="/"), 10).walks
    assert [step.factor for step in made.forwards] == ["WORKERS"]
    assert PROGRAM not in {step.factor for step in made.forwards}
