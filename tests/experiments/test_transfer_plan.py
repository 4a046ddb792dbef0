"""What `iobound run transfer` is going to measure."""

from __future__ import annotations

import re
from typing import Any

import pytest

from iobound.errors import UsageError
from iobound.experiments import transfer
from iobound.lab import transfers
from iobound.planning import Choice
from iobound.records import Rounds, TransferCell


def plan(quick: bool = True, **asked: Any) -> Rounds:
    [rounds] = transfer.plan(Choice(quick=quick, first_available=lambda names: names[0], **asked)).scripts
    return rounds


def cells(rounds: Rounds) -> list[TransferCell]:
    return [cell for cell in rounds.cells if isinstance(cell, TransferCell)]


def possible(rounds: Rounds) -> list[TransferCell]:
    return [
        cell
        for cell in cells(rounds)
        if not transfers.impossible(cell.service or "", cell.isolation, cell.model, cell.strategy)
    ]


@pytest.mark.parametrize("quick", [True, False])
def test_unasked_every_database_model_and_strategy_is_there(quick: bool):
    planned = possible(plan(quick))
    assert {cell.service for cell in planned} == set(transfers.DRIVERS)
    assert {cell.strategy for cell in planned} == set(transfers.STRATEGIES)
    assert {cell.model for cell in planned} == set(transfers.MODELS)
    assert {cell.isolation for cell in planned if cell.service == "mariadb"} >= {"repeatable read", "snapshot isolation"}
    ids = [cell.id for cell in cells(plan(quick))]
    assert len(set(ids)) == len(ids)


def test_a_quick_round_has_few_enough_launches():
    assert len(possible(plan())) <= 54


def test_all_schedules_of_two_strategies_are_explored_under_each_model():
    explored = [(cell.service, cell.strategy, cell.model) for cell in cells(plan(quick=False)) if cell.explored]
    assert len(explored) == 2 * 2 * 4
    assert {cell.service for cell in cells(plan()) if cell.explored} == {"postgresql"}


def test_the_budget_grows_with_what_is_asked_beyond_the_usual():
    usual = plan()
    assert usual.budget_s == plan(databases=["sqlite"]).budget_s == transfer.QUICK_BUDGET_S
    asked = plan(connections=[2, 8, 32])
    assert asked.budget_s == pytest.approx(usual.budget_s * len(asked.cells) / len(usual.cells))


def test_the_baseline_is_right_by_design():
    rounds = plan()
    assert rounds.baseline == "transfer/postgresql/read-committed/threads/for-update-ordered"
    assert plan(databases=["sqlite"]).baseline == "transfer/sqlite/serializable/threads/begin-immediate"


def test_a_strategy_that_was_named_is_measured_under_all_models():
    planned = cells(plan(strategies=["version-counter"], databases=["mariadb"]))
    assert [(cell.model, cell.isolation) for cell in planned] == [(model, "repeatable read") for model in transfers.MODELS]


def test_levels_apply_to_transactions():
    levels = ["read-committed", "serializable"]
    planned = cells(plan(strategies=["autocommit", "transaction"], databases=["mariadb"], models=["threads"], isolation=levels))
    assert [(cell.strategy, cell.isolation) for cell in planned] == [
        ("autocommit", "repeatable read"),
        ("transaction", "read committed"),
        ("transaction", "serializable"),
    ]


def test_connections_and_round_trips_are_crossed_in_where_there_is_a_network():
    asked = {"strategies": ["atomic-update"], "models": ["threads"], "connections": [2, 4], "rtt": [0.0, 1.0]}
    planned = cells(plan(**asked))
    assert [(cell.workers, cell.rtt_ms) for cell in planned if cell.service == "postgresql"] == [(2, 0), (2, 1), (4, 0), (4, 1)]
    assert [(cell.workers, cell.rtt_ms) for cell in planned if cell.service == "sqlite"] == [(2, 0), (4, 0)]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"strategies": ["atomic"]}, "unknown strategy 'atomic'; did you mean atomic-update"),
        ({"databases": ["postgres"]}, "unknown database 'postgres'; did you mean postgresql"),
        ({"models": ["thread"]}, "unknown model 'thread'; did you mean threads"),
        ({"isolation": ["read-commited"]}, "unknown isolation level 'read commited'; did you mean read committed"),
    ],
)
def test_what_is_unknown_is_told_with_what_is_near(asked: dict[str, list[str]], message: str):
    with pytest.raises(UsageError, match=re.escape(message)):
        plan(**asked)


def test_strategies_are_those_of_the_program():
    text = transfers.files("threads", "psycopg")["strategies.py"].read_text()
    assert tuple(re.findall(r'^    "([a-z-]+)": ', text[text.index("STRATEGIES = {") :], re.MULTILINE)) == transfers.STRATEGIES


def test_every_file_of_a_program_is_there():
    for drivers in transfers.DRIVERS.values():
        for model, driver in drivers.items():
            assert all(path.is_file() for path in transfers.files(model, driver).values())
    for database in transfers.EXPLORED_DRIVERS:
        assert all(path.is_file() for model in transfers.MODELS for path in transfers.explored_files(database, model).values())
