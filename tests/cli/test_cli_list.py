"""``iobound list`` as a person and as a program read it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from iobound.lab import catalogue, drivers, loaders, transfers


def listed(*arguments: str, **environment: str) -> str:
    command = [sys.executable, "-m", "iobound", "list", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | environment).stdout


def test_all_kinds_are_listed():
    found = json.loads(listed("--json"))
    assert list(found) == [
        "frameworks", "servers", "stores", "published", "workloads", "services", "engines", "experiments",
        "drivers", "bulk_models", "primitives", "transfer_strategies",
    ]  # fmt: skip
    names = {kind: {entry["name"] for entry in entries} for kind, entries in found.items()}
    assert names["frameworks"] == set(catalogue.own().frameworks)
    assert names["stores"] == set(catalogue.own().stores) - {"none", "none-async"}
    assert {"postgresql", "mariadb", "valkey", "sqlite"} <= names["services"]
    assert {"web", "equal"} <= names["experiments"]
    assert names["drivers"] == set(drivers.catalogue())
    assert names["bulk_models"] == set(loaders.catalogue())
    assert {"call", "create-task", "greenlet-switch"} <= names["primitives"]
    assert names["transfer_strategies"] == set(transfers.STRATEGIES)
    titles = {entry["name"]: entry["title"] for entry in found["bulk_models"] + found["transfer_strategies"]}
    assert "psycopg2" in titles["threads"]
    assert titles["begin-immediate"] == "on sqlite"
    text = listed()
    assert all(name in text for kind in names.values() for name in kind)


def test_the_names_of_all_targets():
    assert listed("--targets").split() == catalogue.names()
    assert json.loads(listed("--targets", "--json")) == {"targets": catalogue.names()}


def test_the_matrix_shows_what_combines():
    combinations = json.loads(listed("--matrix", "--json"))
    assert combinations["frameworks"]["flask"]["gunicorn-gevent"] == "gevent"
    assert combinations["frameworks"]["fastapi-sync"]["uvicorn-uvloop"] == "threads"
    assert "uvicorn-uvloop" not in combinations["frameworks"]["flask"]
    assert combinations["stores"]["mysqlclient"]["models"] == ["processes", "threads"]
    named = {f"{framework}/{server}" for framework, servers in combinations["frameworks"].items() for server in servers}
    assert named == {name for name in catalogue.names() if name.count("/") == 1}
    text = listed("--matrix", COLUMNS="100")
    assert all(name in text for kind in combinations.values() for name in kind)
    assert "…" not in text
    assert "not gevent: mysqlclient waits" in text


def test_a_service_that_is_not_here_is_listed_with_what_installs_it(tmp_path):
    found = json.loads(listed("--json", PATH=str(tmp_path)))
    [mariadb] = [entry for entry in found["services"] if entry["name"] == "mariadb"]
    assert "apt-get install mariadb-server" in mariadb["unavailable"]
    assert "apt-get install mariadb-server" in listed(PATH=str(tmp_path), COLUMNS="200")
