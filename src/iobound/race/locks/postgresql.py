"""Lock waits on PostgreSQL: rows, tables, advisory locks, unique keys being inserted, by `pg_blocking_pids`."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg

from iobound.errors import LabError
from iobound.lab import urls
from iobound.race import connections

# Each call takes all partitions of the lock table: only for the sessions asked about, and once for each.
WAITING = """
    SELECT pid, blockers
    FROM (SELECT pid, pg_blocking_pids(pid) AS blockers FROM unnest(%s::integer[]) AS pid OFFSET 0) AS session
    WHERE cardinality(blockers) > 0
"""


class Observer:
    """See `iobound.race.locks.Observer`. A session is known by its backend's process id; any user may look."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection = connections.postgresql(url)

    def blocked(self, backends: Sequence[int]) -> dict[int, list[int]]:
        """Return the waiting sessions; who queues in front is among the blockers, 0 stands for a prepared transaction."""
        try:
            rows = self._connection.execute(WAITING, [list(backends)], prepare=True).fetchall()
        except psycopg.Error as error:
            raise LabError(f"PostgreSQL at {urls.shown(self._url)} doesn't show its locks: {error}") from error
        return {pid: sorted(set(blockers)) for pid, blockers in rows}

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
