"""SQLite has no server to hold statements at: `sqlite3.connect` is replaced for a while by one whose connections hold them.

That covers sqlite3 itself, aiosqlite, and what SQLAlchemy, Django and Tortoise do with them. No connection waits inside SQLite.
Where SQLite would wait (SQLITE_BUSY, with a time-out) the session is blocked, and tries again after another one has moved;
where it wouldn't, the program gets the error that it would get: at once for a transaction that has read and can't be upgraded
while another one writes, and SQLITE_BUSY_SNAPSHOT once that one has committed.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from sqlite3 import dbapi2
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

from iobound.errors import IoboundError
from iobound.race import statements
from iobound.race.databases.sqlite import Database
from iobound.race.gate import Held, unchanged
from iobound.race.wakeup import Wakeup
from iobound.race.wire import ROWS_KEPT, Answer
from iobound.records.race import StepKind

DEFAULT_TIMEOUT_S = 5.0
PLACES: tuple[Any, ...] = (sqlite3, dbapi2)


class HeldCall:
    """A call of the driver that waits to be released. See `iobound.race.gate.Held`."""

    def __init__(self, connection: Any, sql: str, kind: StepKind, parameters: list[str | None]) -> None:
        self.connection: object = connection
        self.sql = sql
        self.kind = kind
        self.parameters = parameters
        self.kept = Answer()
        self.done = False
        self.busy = False
        self.expired = False
        self.tried_at = -1
        self._turn = threading.Semaphore(0)

    @property
    def inside(self) -> bool:
        """Whether the connection is in a transaction."""
        return _inside(self.connection)

    @property
    def answer(self) -> Answer | None:
        """What SQLite answered."""
        return self.kept if self.done else None

    def release(self) -> None:
        """Let the program's thread try."""
        self._turn.release()

    def deliver(self) -> None:
        """Let the program's thread go on."""
        self._turn.release()

    def wait(self) -> None:
        """Wait for either, in the program's thread."""
        self._turn.acquire()


class _State:
    """What is known of one connection: whether it would wait for locks, and has read in its transaction."""

    def __init__(self, *, waits: bool) -> None:
        self.waits = waits
        self.has_read = False


class Patched:
    """See `iobound.race.gate.Gate`. A context manager: connections to the database's file are held while it is entered."""

    def __init__(self, database: Database, wakeup: Wakeup) -> None:
        self.refused: list[IoboundError] = []
        self.shared: list[object] = []
        self.sets_isolation = False
        self.rewrite: Callable[[str], str] = unchanged
        self.deadlock_s = 0.0
        self.through = True
        self._path = database.path.resolve()
        self._wakeup = wakeup
        self._arrived: list[HeldCall] = []
        self._open: set[HeldCall] = set()
        self._connections: list[Any] = []
        self._new: list[object] = []
        self._moves = 0
        self._abandoned = False
        self._real = sqlite3.connect

    def __enter__(self) -> Patched:
        for place in PLACES:
            place.connect = self._connect
        return self

    def __exit__(self, *exception: object) -> None:
        for place in PLACES:
            place.connect = self._real
        self.abandon()

    def _connect(self, database: Any, timeout: float = DEFAULT_TIMEOUT_S, *rest: Any, **named: Any) -> Any:
        if _file(database) != self._path:
            return self._real(database, timeout, *rest, **named)
        factory = named.pop("factory", sqlite3.Connection)
        state = _State(waits=timeout > 0)
        patience = timeout if self.through and not self._abandoned else 0
        connection = self._real(database, patience, *rest, factory=_holding(factory, self, state), **named)
        self._connections.append(connection)
        self._new.append(connection)
        return connection

    # --- in the program's threads -------------------------------------------------------------------------------------

    def carry_out(
        self, connection: Any, state: _State, sql: str, parameters: list[str | None], act: Callable[[], Any]
    ) -> tuple[Any, Answer]:
        """Do `act` when it is released, for as long as SQLite is busy and the connection would wait."""
        kind = statements.kind(sql)
        self.sets_isolation |= "read_uncommitted" in sql
        if kind is None or self.through:
            return act(), Answer()
        held = HeldCall(connection, sql, kind, parameters)
        self._tell(lambda: self._arrive(held))
        held.wait()
        while True:
            try:
                result = act()
                break
            except sqlite3.Error as error:
                if not self._would_wait(connection, state, held, error):
                    held.kept.error = (getattr(error, "sqlite_errorname", ""), str(error))
                    self._finish(held)
                    raise
            self._tell(lambda: setattr(held, "busy", True))
            held.wait()
        if kind in ("commit", "rollback"):
            state.has_read = False  # another one may have begun, with autocommit=False
        else:
            state.has_read = connection.in_transaction and (state.has_read or kind == "statement")
        held.kept.affected = result.rowcount if isinstance(result, sqlite3.Cursor) and result.rowcount >= 0 else None
        held.kept.columns = [column[0] for column in getattr(result, "description", None) or ()]
        self._finish(held)
        return result, held.kept

    def _would_wait(self, connection: Any, state: _State, held: HeldCall, error: sqlite3.Error) -> bool:
        """Tell whether SQLite would call its busy handler (btree.c, sqlite3BtreeBeginTrans): not for a reader that writes."""
        upgrades = held.kind == "statement" and connection.in_transaction and state.has_read
        busy = getattr(error, "sqlite_errorname", "") in ("SQLITE_BUSY", "SQLITE_BUSY_RECOVERY", "SQLITE_BUSY_TIMEOUT")
        return busy and state.waits and not upgrades and not held.expired and not self._abandoned

    def _finish(self, held: HeldCall) -> None:
        self._tell(lambda: self._done(held))
        held.wait()

    def _tell(self, act: Callable[[], None]) -> None:
        self._wakeup.tell(act)

    # --- in the searching thread --------------------------------------------------------------------------------------

    def _arrive(self, held: HeldCall) -> None:
        self._open.add(held)
        if self._abandoned:
            held.release()
        else:
            self._arrived.append(held)

    def _done(self, held: HeldCall) -> None:
        self._moves += 1
        held.done = True
        self._open.discard(held)
        if self._abandoned:
            held.deliver()

    def arrivals(self) -> list[Held]:
        """Return the calls that have come since the last time."""
        arrived: list[Held] = list(self._arrived)
        self._arrived = []
        return arrived

    def opened(self) -> list[object]:
        """Return the connections that were opened since the last call."""
        opened, self._new = self._new, []
        return opened

    def busy(self) -> bool:
        """Nothing goes on by itself."""
        return False

    def waiting(self, held: list[Held]) -> dict[int, list[object]]:
        """Return the calls for which SQLite is busy; one that hasn't tried since another one moved tries again."""
        found: dict[int, list[object]] = {}
        for place, each in enumerate(held):
            if not isinstance(each, HeldCall) or not each.busy:
                continue
            if each.tried_at != self._moves:
                each.tried_at = self._moves
                each.busy = False
                each.release()
            else:
                others = [other for other in self._connections if other is not each.connection and _inside(other)]
                found[place] = others
        return found

    def expire(self) -> bool:
        """End the wait of the first one that waits, as its time-out would: nobody else moves."""
        for held in sorted((held for held in self._open if held.busy), key=lambda held: held.tried_at):
            held.expired = True
            held.busy = False
            held.release()
            return True
        return False

    def open(self, through: bool) -> None:
        """Let everything through, or hold it."""
        self.through = through
        self._abandoned = False

    def isolate(self, isolation: str | None) -> None:
        """SQLite has no levels."""

    def left_open(self) -> list[object]:
        """Return the connections with a transaction."""
        return [connection for connection in self._connections if _inside(connection)]

    def settle(self, connections: Sequence[object]) -> None:
        """Roll back."""
        for connection in connections:
            _end(connection)
        self._connections = [connection for connection in self._connections if _usable(connection)]

    def abandon(self) -> None:
        """Let everyone who waits go on, to an error where SQLite is busy."""
        self._abandoned = True
        self.through = True
        for held in list(self._open):
            held.release()


def _holding(factory: type[sqlite3.Connection], gate: Patched, state: _State) -> type[sqlite3.Connection]:
    """Return a connection class whose statements pass through `gate`."""

    class Holding(factory):  # type: ignore[misc,valid-type]
        def cursor(self, factory: Callable[..., Any] = sqlite3.Cursor) -> Any:
            made = factory if isinstance(factory, type) else sqlite3.Cursor
            return super().cursor(_holding_cursor(made, gate, state))

        def execute(self, sql: str, parameters: Any = ()) -> Any:
            return self.cursor().execute(sql, parameters)

        def executemany(self, sql: str, parameters: Any) -> Any:
            return self.cursor().executemany(sql, parameters)

        def executescript(self, sql: str) -> Any:
            return self.cursor().executescript(sql)

        def commit(self) -> None:
            if self.in_transaction:
                gate.carry_out(self, state, "COMMIT", [], super().commit)
            else:
                super().commit()

        def rollback(self) -> None:
            if self.in_transaction:
                gate.carry_out(self, state, "ROLLBACK", [], super().rollback)
            else:
                super().rollback()

        def __exit__(self, kind: type[BaseException] | None, error: Any, trace: Any) -> Literal[False]:
            if kind is None:
                try:
                    self.commit()
                except BaseException:
                    self.rollback()
                    raise
            else:
                self.rollback()
            return False

    return Holding


def _holding_cursor(factory: type[sqlite3.Cursor], gate: Patched, state: _State) -> type[sqlite3.Cursor]:
    class HoldingCursor(factory):  # type: ignore[misc,valid-type]
        _kept: Answer | None = None

        def _held(self, sql: str, parameters: Any, act: Callable[[], Any]) -> Any:
            shown = [None if value is None else str(value) for value in _values(parameters)]
            self._kept = None
            result, self._kept = gate.carry_out(self.connection, state, sql, shown, act)
            if sql.lower().replace(" ", "").startswith("pragmabusy_timeout="):
                state.waits = not sql.rstrip("; ").endswith("=0")
                super().execute("PRAGMA busy_timeout = 0")
            return result

        def execute(self, sql: str, parameters: Any = ()) -> Any:
            act = super().execute
            sql = gate.rewrite(sql)
            return self._held(sql, parameters, lambda: act(sql, parameters))

        def executemany(self, sql: str, parameters: Any) -> Any:
            act = super().executemany
            sql = gate.rewrite(sql)
            rows = list(parameters)
            return self._held(sql, rows[:1] and rows[0], lambda: act(sql, rows))

        def executescript(self, sql: str) -> Any:
            act = super().executescript
            return self._held(sql, (), lambda: act(sql))

        def _seen(self, row: Any) -> Any:
            if row is not None and self._kept is not None and len(self._kept.rows) < ROWS_KEPT:
                self._kept.rows.append([None if value is None else str(value) for value in tuple(row)])
            return row

        def fetchone(self) -> Any:
            return self._seen(super().fetchone())

        def fetchmany(self, size: int | None = None) -> Any:
            return [self._seen(row) for row in super().fetchmany(self.arraysize if size is None else size)]

        def fetchall(self) -> Any:
            return [self._seen(row) for row in super().fetchall()]

        def __next__(self) -> Any:
            return self._seen(super().__next__())

    return HoldingCursor


def _values(parameters: Any) -> Iterator[Any]:
    yield from parameters.values() if isinstance(parameters, dict) else parameters


def _file(database: Any) -> Path | None:
    """Return the file that a program opens, ``None`` for one in memory."""
    name = database.decode() if isinstance(database, bytes) else str(database)
    if name.startswith("file:"):
        name = unquote(urlsplit(name).path)
    return None if name in ("", ":memory:") else Path(name).resolve()


def _inside(connection: Any) -> bool:
    try:
        return bool(connection.in_transaction)
    except sqlite3.Error:
        return False


def _usable(connection: Any) -> bool:
    try:
        connection.total_changes  # noqa: B018
    except sqlite3.Error:
        return False
    return True


def _end(connection: Any) -> None:
    """Roll back from another thread, which only SQLite itself allows."""
    try:
        sqlite3.Connection.rollback(connection)
    except sqlite3.Error:
        return
