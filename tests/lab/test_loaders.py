"""Loaders are found by their files, with the drivers that they can drive."""

import pytest

from iobound.errors import UsageError
from iobound.lab import drivers, loaders


def test_the_models_and_drivers_that_were_published_and_today_s_are_found():
    for asked in (
        *("threads/psycopg2", "threads/psycopg", "gevent/psycopg2", "gevent/psycopg", "processes/psycopg2"),
        *("asyncio/aiopg", "asyncio/asyncpg", "asyncio-uvloop/asyncpg", "processes-asyncio/asyncpg"),
        *("threads/pymysql", "threads/mysqlclient", "asyncio/aiomysql", "asyncio/asyncmy"),
    ):
        loader, driver = loaders.find(asked)
        assert f"{loader.name}/{driver.name}" == asked
        files = loaders.files(loader, driver)
        assert all(path.exists() for path in files.values())
        assert {"program.py", "driver.py", "feeding.py", "phases.py"} <= set(files)


def test_the_asynchronous_form_of_a_driver_may_be_called_by_its_plain_name():
    assert loaders.find("asyncio/psycopg")[1].name == "psycopg-async"
    assert loaders.find("threads/psycopg")[1].name == "psycopg"


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("threads", "'threads' is no model with its driver"),
        ("threats/psycopg2", "unknown model 'threats'.*threads"),
        ("threads/psycopg4", "unknown driver 'psycopg4'.*psycopg"),
        ("threads/asyncpg", "threads can't drive asyncpg; it drives .*psycopg2"),
        ("gevent/mysqlclient", "gevent can't drive mysqlclient"),
        ("threads/sqlite3", "threads can't drive sqlite3"),
        ("threads/sqlalchemy-orm-psycopg", "threads can't drive sqlalchemy-orm-psycopg"),
    ],
)
def test_what_cannot_be_driven_is_refused_by_name(asked, message):
    with pytest.raises(UsageError, match=message):
        loaders.find(asked)


def test_every_loader_drives_something():
    for loader in loaders.catalogue().values():
        assert any(loaders.drives(loader.description, drivers.find(name)) for name in drivers.names())
