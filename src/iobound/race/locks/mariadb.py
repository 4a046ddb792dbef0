"""Lock waits on MariaDB: by InnoDB's monitor for rows, by the process list for all others.

INFORMATION_SCHEMA.INNODB_TRX and INNODB_LOCK_WAITS aren't used: they are brought up to date for readers only who last looked
more than 0.1 s ago, so that whoever looks more often sees the same picture for ever. The monitor is always fresh, and faster.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pymysql

from iobound.errors import LabError
from iobound.lab import urls
from iobound.race import connections

# States of sql/mdl.cc and sql/lock.cc. "Waiting for query cache lock" is a mutex, released by itself.
LOCK_STATE = re.compile(r"User lock|Waiting for (?:.* metadata lock|backup lock|table level lock|table flush)")
TRANSACTION = re.compile(r"^---TRANSACTION ", re.MULTILINE)
SESSION = re.compile(r"^(?:MariaDB|MySQL) thread id (\d+),", re.MULTILINE)
WAITS = re.compile(r"^LOCK WAIT ", re.MULTILINE)
RECORD_LOCK = re.compile(
    r"^RECORD LOCKS (space id \d+ page no \d+) n bits \d+ index .* of table .* trx id \d+ lock[_ ]mode (S|X)(.*)\n"
    r"((?:Record lock, heap no \d+(?:.*\n)(?: .*\n)*\n?)*)",
    re.MULTILINE,
)
RECORD = re.compile(r"^Record lock, heap no (\d+)", re.MULTILINE)


@dataclass(frozen=True)
class _Lock:
    """A lock on records of one page, or a wait for one."""

    page: str
    records: frozenset[str]
    mode: str
    kind: str

    def stops(self, wanted: _Lock) -> bool:
        """Tell whether `wanted` waits for this lock (lock0lock.cc, lock_rec_has_to_wait)."""
        inserts = "insert intention" in wanted.kind
        return (
            self.page == wanted.page
            and bool(self.records & wanted.records)
            and "X" in (self.mode, wanted.mode)
            and "insert intention" not in self.kind
            and (inserts or "gap before rec" not in self.kind)
            and not (inserts and "but not gap" in self.kind)
        )


@dataclass
class _Locks:
    """What the monitor says about one session."""

    waits: bool = False
    wanted: list[_Lock] = field(default_factory=list)
    held: list[_Lock] = field(default_factory=list)


class Observer:
    """See `iobound.race.locks.Observer`. A session is known by its connection id; needs the PROCESS privilege.

    Who blocks is only known for rows, and where the monitor lists locks (innodb_status_output_locks).
    """

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
        [[_, _, monitor]] = self._rows("SHOW ENGINE INNODB STATUS")
        locks = _read(monitor)
        found = {session: _blockers(session, locks) for session in backends if session in locks and locks[session].waits}
        for session, _, _, _, _, _, state, *_ in self._rows("SHOW PROCESSLIST"):
            if session in backends and session not in found and LOCK_STATE.fullmatch(state or ""):
                found[session] = []
        return found

    def close(self) -> None:
        """Close the connection."""
        if self._connection.open:
            self._connection.close()

    def _rows(self, query: str) -> tuple[tuple[Any, ...], ...]:
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(query)
                return tuple(cursor.fetchall())
        except pymysql.MySQLError as error:
            raise LabError(
                f"the server at {urls.shown(self._url)} doesn't show its locks: {error}; "
                "its user needs: GRANT PROCESS ON *.* TO that user"
            ) from error


def _read(monitor: str) -> dict[int, _Locks]:
    """Return what InnoDB's monitor says about sessions with a transaction, by session."""
    found: defaultdict[int, _Locks] = defaultdict(_Locks)
    _, _, transactions = monitor.partition("LIST OF TRANSACTIONS FOR EACH SESSION")
    for text in TRANSACTION.split(transactions)[1:]:
        session = SESSION.search(text)
        if session is None:
            continue
        locks = found[int(session[1])]
        locks.waits |= WAITS.search(text, 0, session.start()) is not None  # not in the statement, which follows
        for page, mode, kind, records in RECORD_LOCK.findall(text):
            lock = _Lock(page, frozenset(RECORD.findall(records)), mode, kind)
            (locks.wanted if kind.endswith(" waiting") else locks.held).append(lock)
    return found


def _blockers(session: int, locks: dict[int, _Locks]) -> list[int]:
    return sorted(
        other
        for other, its in locks.items()
        if other != session and any(held.stops(wanted) for wanted in locks[session].wanted for held in its.held)
    )
