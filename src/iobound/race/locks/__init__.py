"""Which sessions wait for a lock now, as the server itself says: one file a server, each with an `Observer`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Protocol
from urllib.parse import urlsplit

from iobound.errors import UsageError
from iobound.race import connections


class Observer(Protocol):
    """Sees lock waits of any session on a server, over a connection of its own, which isn't for several threads."""

    def blocked(self, backends: Sequence[int]) -> dict[int, list[int]]:
        """Return those of the sessions `backends` (the server's numbers) that wait for a lock now, with those they wait for.

        The list is empty where the server doesn't say whom a session waits for. Raises `LabError` where the server is lost.
        """
        ...

    def close(self) -> None:
        """Close the connection. Safe to call twice."""
        ...


def observe(url: str) -> Observer:
    """Return an observer of the server at `url`; raises `LabError` where it can't be reached or hides its locks."""
    scheme = urlsplit(url).scheme
    if scheme in ("postgresql", "postgres"):
        from iobound.race.locks import postgresql

        return postgresql.Observer(url)
    if scheme not in ("mysql", "mariadb"):
        raise UsageError(f"no locks can be seen on {scheme}; known: postgresql, mysql, mariadb")
    with closing(connections.mysql(url)) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT version()")
        [[version]] = cursor.fetchall()
    if "MariaDB" in version:
        from iobound.race.locks import mariadb

        return mariadb.Observer(url)
    from iobound.race.locks import mysql

    return mysql.Observer(url)
