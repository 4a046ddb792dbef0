"""What `iobound run drivers` is going to measure."""

from typing import Any

import pytest

from iobound.errors import UsageError
from iobound.experiments import drivers as experiment
from iobound.lab import drivers, interpreters
from iobound.planning import Choice
from iobound.records import DriverCell, Rounds


def plan(quick: bool = True, has_mariadb: bool = True, **chosen: Any) -> Rounds:
    choice = Choice(quick=quick, first_available=lambda names: names[0 if has_mariadb else 1], **chosen)
    [rounds] = experiment.plan(choice).scripts
    return rounds


def cells(rounds: Rounds) -> list[DriverCell]:
    return [cell for cell in rounds.cells if isinstance(cell, DriverCell)]


def test_the_quick_form_is_of_8_drivers_and_50_selects():
    rounds = plan()
    assert len(rounds.cells) == 8
    assert all(cell.times["select"] == 50 and cell.rows == cell.inserts == 1000 for cell in cells(rounds))
    assert (rounds.budget_s, rounds.rounds, rounds.baseline) == (25.0, 3, "drivers/mysqlclient")


def test_the_whole_form_is_of_500_selects_as_published():
    assert all(cell.times["select"] == 500 for cell in cells(plan(quick=False)))
    assert plan(quick=False).budget_s == 60.0


@pytest.mark.parametrize("quick", [True, False])
def test_without_mariadb_others_take_the_places_of_its_drivers(quick: bool):
    instead = cells(plan(quick, has_mariadb=False))
    assert len(instead) == len(cells(plan(quick)))
    assert "mariadb" not in {cell.service for cell in instead}


def test_a_ladder_is_complete():
    rungs = {cell.rung: cell for cell in cells(plan()) if cell.driver == "psycopg" or cell.beneath == "psycopg"}
    assert rungs.keys() == {"driver", "core", "orm"}


def test_all_are_those_of_the_catalogue():
    rounds = plan(drivers=("all",))
    assert [cell.driver for cell in cells(rounds)] == drivers.names()
    assert rounds.budget_s > 25.0


def test_round_trip_times_are_crossed_with_what_a_network_leads_to():
    crossed = cells(plan(drivers=("psycopg", "sqlite3"), rtt=(0.0, 5.0)))
    assert [(cell.driver, cell.rtt_ms) for cell in crossed] == [("psycopg", 0.0), ("psycopg", 5.0), ("sqlite3", 0.0)]
    assert len({cell.id for cell in crossed}) == 3


def test_fewer_rows_are_inserted_one_by_one_where_each_waits_long():
    near, far = cells(plan(drivers=("psycopg",), rtt=(0.0, 20.0)))
    assert near.inserts == near.rows == far.rows > far.inserts >= 20


def test_interpreters_are_crossed_with_drivers():
    own = "{}.{}".format(*interpreters.own().release)
    assert {(cell.python, cell.driver) for cell in cells(plan(python=(own,), drivers=("psycopg", "sqlite3")))} == {
        (own, "psycopg"),
        (own, "sqlite3"),
    }


def test_an_interpreter_that_is_missing_is_told_once():
    assert [cell.python for cell in cells(plan(python=("3.99",)))] == ["3.99"]


def test_an_unknown_driver_names_the_nearest():
    with pytest.raises(UsageError, match="psycopg2"):
        plan(drivers=("psycop2",))
