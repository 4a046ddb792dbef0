"""Connections of iobound's own to a server by URL: what they wait for has a limit, and an error names the server."""

from __future__ import annotations

from typing import Any

import psycopg
import pymysql
from pymysql.connections import Connection

from iobound.errors import LabError
from iobound.lab import urls
from iobound.lab.processes import LOOPBACK

CONNECT_TIMEOUT_S = 5


def postgresql(url: str) -> psycopg.Connection[Any]:
    """Connect to PostgreSQL, each statement committed by itself; raises `LabError`."""
    try:
        return psycopg.connect(url, autocommit=True, connect_timeout=CONNECT_TIMEOUT_S, application_name="iobound")
    except psycopg.Error as error:
        raise _unreachable("PostgreSQL", url, error) from error


def mysql(url: str) -> Connection[Any]:
    """Connect to MariaDB or MySQL, each statement committed by itself; raises `LabError`."""
    try:
        login = urls.mysql_login(url)
        return pymysql.connect(
            **login,
            database=urls.database(url) or None,
            autocommit=True,
            charset="utf8mb4",
            connect_timeout=CONNECT_TIMEOUT_S,
            # PyMySQL loads all certificates of the machine before it asks for TLS
            ssl_disabled=login["host"] in (LOOPBACK, "localhost"),
        )
    except (pymysql.MySQLError, ValueError, RuntimeError) as error:
        raise _unreachable("MariaDB or MySQL", url, error) from error


def _unreachable(server: str, url: str, error: Exception) -> LabError:
    return LabError(
        f"can't connect to {server} at {urls.shown(url)}: {urls.hidden(error, url)}; "
        "check that it runs there, and the URL's host, port, user and password"
    )
