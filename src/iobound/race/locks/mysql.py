"""Lock waits on MySQL 8 by its performance schema: rows, tables and names (GET_LOCK). Untested on a server: none is at hand."""

from __future__ import annotations

from collections.abc import Sequence

import pymysql

from iobound.errors import LabError
from iobound.lab import urls
from iobound.race import connections

# A pending metadata lock waits for whoever holds one on the same object; that it conflicts isn't told.
WAITING = """
    SELECT waiter.processlist_id, holder.processlist_id
    FROM performance_schema.data_lock_waits AS wait
    JOIN performance_schema.threads AS waiter ON waiter.thread_id = wait.requesting_thread_id
    LEFT JOIN performance_schema.threads AS holder ON holder.thread_id = wait.blocking_thread_id
    UNION
    SELECT waiter.processlist_id, holder.processlist_id
    FROM performance_schema.metadata_locks AS pending
    JOIN performance_schema.threads AS waiter ON waiter.thread_id = pending.owner_thread_id
    LEFT JOIN performance_schema.metadata_locks AS granted
      ON granted.lock_status = 'GRANTED' AND granted.object_type = pending.object_type
      AND granted.object_schema <=> pending.object_schema AND granted.object_name <=> pending.object_name
      AND granted.owner_thread_id <> pending.owner_thread_id
    LEFT JOIN performance_schema.threads AS holder ON holder.thread_id = granted.owner_thread_id
    WHERE pending.lock_status = 'PENDING'
"""


class Observer:
    """See `iobound.race.locks.Observer`. A session is known by its connection id."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection = connections.mysql(url)
        try:
            self.blocked([])
        except LabError:
            self.close()
            raise

    def blocked(self, backends: Sequence[int]) -> dict[int, list[int]]:
        """Return the waiting sessions."""
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(WAITING)
                pairs = cursor.fetchall()
        except pymysql.MySQLError as error:
            raise LabError(
                f"MySQL at {urls.shown(self._url)} doesn't show its locks: {error}; "
                "its user needs: GRANT SELECT ON performance_schema.* TO that user"
            ) from error
        waiting = {waiter for waiter, _ in pairs if waiter in backends}
        return {
            session: sorted({holder for waiter, holder in pairs if waiter == session and holder is not None})
            for session in waiting
        }

    def close(self) -> None:
        """Close the connection."""
        if self._connection.open:
            self._connection.close()
