"""Which targets there are, what they are called, and why some are none."""

from __future__ import annotations

import re
import shutil

import pytest

from iobound import workloads
from iobound.errors import LabError, UsageError
from iobound.lab import catalogue, environments, interpreters
from iobound.lab.catalogue import FOLDER, Catalogue
from iobound.records import Workload


def test_every_name_finds_its_target():
    names = catalogue.names()
    assert len(names) == len(set(names))
    for name in names:
        assert catalogue.find(name).name == name


def test_the_catalogue_holds_the_parts_that_were_promised():
    own = catalogue.own()
    assert set(own.frameworks) >= {
        "flask", "aiohttp", "starlette", "fastapi", "fastapi-sync", "bare-asgi", "bare-wsgi",
        "django", "django-async", "falcon-wsgi", "falcon-asgi", "litestar", "quart", "sanic", "tornado", "blacksheep", "robyn",
        "bottle",
    }  # fmt: skip
    assert set(own.servers) >= {
        "werkzeug", "gunicorn-sync", "gunicorn-gthread", "gunicorn-gevent", "uvicorn-asyncio", "uvicorn-uvloop",
        "granian-wsgi", "granian-asgi", "aiohttp", "hypercorn", "waitress", "cheroot", "daphne", "uwsgi", "gunicorn-uvicorn",
        "sanic", "tornado", "robyn",
    }  # fmt: skip
    services = {store.description.service for store in own.stores.values()}
    assert services == {"none", "postgresql", "mariadb", "valkey", "sqlite"}


def test_every_part_stands_in_some_target():
    used = {part.path for target in catalogue.own().targets() for part in target.parts}
    assert used == {
        path for folder in ("frameworks", "servers", "stores", "published") for path in (FOLDER / folder).glob("*.py")
    }


def test_a_composed_target():
    target = catalogue.find("flask/gunicorn-gthread/sqlalchemy-psycopg")
    assert (target.kind, target.service, target.model, target.environment) == ("composed", "postgresql", "threads", "catalogue")
    assert {"POOL_SIZE", "THREADS", "WORKERS", "AUTOCOMMIT"} <= set(target.knobs)
    assert target.files["store.py"] == FOLDER / "stores" / "sqlalchemy-psycopg.py"


@pytest.mark.parametrize(
    ("name", "model"),
    [("fastapi/uvicorn-uvloop/asyncpg", "asyncio"), ("fastapi-sync/uvicorn-uvloop/psycopg", "threads")],
)
def test_the_model_is_the_servers_unless_the_framework_has_its_own(name, model):
    assert catalogue.find(name).model == model


@pytest.mark.parametrize(
    ("name", "served"),
    [
        ("flask/werkzeug", {"plain", "json", "file"}),
        ("flask/werkzeug/sqlite3", set(workloads.NAMES) - {"redis-get", "db-wait"}),
        ("flask/werkzeug/pymysql", set(workloads.NAMES) - {"redis-get"}),
        ("flask/werkzeug/redis-py", {"plain", "json", "file", "redis-get"}),
    ],
)
def test_a_target_serves_what_its_service_allows(name, served):
    target = catalogue.find(name)
    assert {workload for workload in workloads.NAMES if target.serves(Workload(name=workload))} == served


@pytest.mark.parametrize(
    ("name", "why", "instead"),
    [
        ("flask/uvicorn-uvloop/psycopg", "flask speaks wsgi, uvicorn-uvloop serves asgi", "flask/gunicorn-gthread/psycopg"),
        ("flask/uvicorn-asyncio", "flask speaks wsgi", "fastapi-sync/uvicorn-asyncio"),
        (
            "starlette/uvicorn-uvloop/psycopg",
            "starlette has async handlers, psycopg is sync",
            "starlette/uvicorn-uvloop/asyncpg",
        ),
        ("flask/werkzeug/aiomysql", "flask has sync handlers, aiomysql is async", "flask/werkzeug/pymysql"),
        ("flask/gunicorn-gevent/mysqlclient", "one query would stop all others", "flask/gunicorn-gevent/pymysql"),
    ],
)
def test_parts_that_do_not_fit_are_refused_with_the_reason_and_what_fits(name, why, instead):
    with pytest.raises(UsageError) as caught:
        catalogue.find(name)
    assert str(caught.value).startswith(f"target {name}: ")
    assert why in str(caught.value)
    fitting = str(caught.value).partition("what fits: ")[2].split(", ")
    assert instead in fitting
    for each in fitting:
        assert catalogue.find(each)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("flsk/werkzeug", "unknown framework 'flsk'; did you mean flask?"),
        ("flask/gunicorn-thread", "unknown server 'gunicorn-thread'; did you mean gunicorn-gthread"),
        ("flask/werkzeug/psycop", "unknown store 'psycop'; did you mean psycopg"),
        ("flask-as-publishd", "unknown target 'flask-as-publishd'; did you mean flask-as-published"),
        ("flask-sql-as-published@mysql", "did you mean flask-sql-as-published"),
        ("flask", "lacks a server; it is one of flask/cheroot"),
        ("flask/werkzeug/psycopg/more", "too many parts"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(name, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        catalogue.find(name)


def test_a_published_program_on_each_service_and_interpreter():
    versions = {name: catalogue.find(name) for name in catalogue.names() if name.startswith("flask-sql-as-published")}
    assert {name: (target.service, target.environment) for name, target in versions.items()} == {
        "flask-sql-as-published": ("mariadb", "published"),
        "flask-sql-as-published@3.8": ("mariadb", "published-3.8"),
        "flask-sql-as-published@postgresql": ("postgresql", "published"),
        "flask-sql-as-published@postgresql@3.8": ("postgresql", "published-3.8"),
    }


def test_a_missing_interpreter_makes_a_target_unavailable(monkeypatch):
    monkeypatch.setattr(interpreters, "missing", lambda version: f"`uv python install {version}` installs it")
    assert "uv python install 3.8" in (catalogue.find("flask-as-published@3.8").unavailable() or "")
    assert catalogue.find("flask/werkzeug").unavailable() is None


def test_a_part_for_a_newer_python_makes_a_target_unavailable(tmp_path):
    (tmp_path / "servers").mkdir()
    text = (FOLDER / "servers" / "werkzeug.py").read_text()
    (tmp_path / "servers" / "future.py").write_text(text.replace(">=3.11", ">=3.99"))
    assert "needs Python >=3.99" in (Catalogue(FOLDER, tmp_path).find("flask/future").unavailable() or "")


def test_two_parts_with_the_same_name_are_refused(tmp_path):
    (tmp_path / "servers").mkdir()
    shutil.copy(FOLDER / "servers" / "werkzeug.py", tmp_path / "servers")
    with pytest.raises(LabError, match=r"werkzeug\.py has the same name as"):
        Catalogue(FOLDER, tmp_path)


def test_the_lock_holds_what_the_parts_depend_on():
    locked = set(re.findall(r"^([\w.-]+)==", (environments.LOCKS / "catalogue.txt").read_text(), re.MULTILINE))
    parts = (part for target in catalogue.own().targets() if target.kind == "composed" for part in target.parts)
    needed = {re.split(r"[^\w.-]", each)[0].lower() for part in parts for each in part.dependencies}
    assert needed <= locked, "lock again: the command stands in the first lines of catalogue.txt"


@pytest.mark.parametrize("lock", sorted(environments.LOCKS.glob("*.txt")), ids=lambda path: path.stem)
def test_a_lock_names_no_host_and_hashes_everything(lock):
    text = lock.read_text()
    assert "://" not in text
    assert "--index" not in text
    assert all("--hash=sha256:" in block for block in re.split(r"\n(?=[\w.-]+==)", text.partition("\n\n")[0])[1:])
