"""Statements of several sessions played in a written order: one that waits for a lock is passed over until it gets through."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from typing import Protocol

import psycopg
import pymysql

from iobound.errors import LabError
from iobound.race import connections
from iobound.race.anomalies import ROLLBACK, Event, Rows, Step
from iobound.race.locks import Observer

LOOK_AGAIN_S = 0.001
PATIENCE_S = 10.0


class Session(Protocol):
    """A connection on which statements are sent without waiting for the answer."""

    def send(self, statement: str) -> None:
        """Start a statement; the one before must have ended."""
        ...

    def answer(self) -> tuple[Rows, str | None] | None:
        """Return rows and error code of the statement sent, or ``None`` as soon as it is seen to wait for a lock."""
        ...

    def busy(self) -> bool:
        """Tell whether a statement sent hasn't ended."""
        ...

    def close(self) -> None:
        """Close the connection; it mustn't be busy."""
        ...


def play(steps: Sequence[Step], sessions: dict[int, Session]) -> list[Event]:
    """Send `steps` one after the other and return how they ended, in the order in which they did.

    The steps of a waiting session come when it got through. One whose statement failed is rolled back and takes no more part.
    Raises `LabError` where all wait for more than 10 s.
    """
    events: list[Event] = []
    waiting: defaultdict[int, deque[str]] = defaultdict(deque)
    under_way: set[int] = set()
    failed: set[int] = set()

    def advance(number: int) -> None:
        """Send what the session has to send, as far as it gets."""
        while waiting[number]:
            statement = waiting[number][0]
            if number not in under_way:
                sessions[number].send(statement)
                under_way.add(number)
            answer = sessions[number].answer()
            if answer is None:
                return
            under_way.discard(number)
            waiting[number].popleft()
            rows, error = answer
            events.append(Event(number, statement, rows, error))
            if error and statement != ROLLBACK:
                failed.add(number)
                waiting[number] = deque([ROLLBACK])

    def advance_all() -> bool:
        before = len(events)
        for number in sorted(under_way):
            advance(number)
        return len(events) > before

    for step in steps:
        if step.session not in failed:
            waiting[step.session].append(step.statement)
            advance(step.session)
        while advance_all():
            pass
    deadline = time.monotonic() + PATIENCE_S
    while under_way:
        if not advance_all() and time.monotonic() > deadline:
            raise LabError(f"sessions {sorted(under_way)} wait for each other for ever")
    return events


def close(sessions: Sequence[Session]) -> None:
    """Close the sessions: one that waits for another once that one is closed, and has let go of its locks."""
    left = list(sessions)
    deadline = time.monotonic() + PATIENCE_S
    while left and time.monotonic() < deadline:
        for session in left:
            if not session.busy():
                session.close()
        left = [session for session in left if session.busy()]
        time.sleep(LOOK_AGAIN_S if left else 0)


class ServerSession:
    """A session on a database server, whose statements run in a thread of its own."""

    def __init__(self, backend: int, run: Callable[[str], Rows], close: Callable[[], None], observer: Observer) -> None:
        self._backend = backend
        self._run = run
        self._close = close
        self._observer = observer
        self._thread: threading.Thread | None = None
        self._answer: tuple[Rows, str | None] | None = None

    def send(self, statement: str) -> None:
        """Start a statement in the thread."""
        self._answer = None
        self._thread = threading.Thread(target=self._execute, args=(statement,), daemon=True)
        self._thread.start()

    def answer(self) -> tuple[Rows, str | None] | None:
        """Return the answer, or ``None`` where the server says that the session waits."""
        assert self._thread
        deadline = time.monotonic() + PATIENCE_S
        while True:
            self._thread.join(LOOK_AGAIN_S)
            if not self._thread.is_alive():
                return self._answer
            if self._observer.blocked([self._backend]):
                return None
            if time.monotonic() > deadline:
                raise LabError(f"a statement got no answer in {PATIENCE_S:g} s, and the server doesn't say what it waits for")

    def busy(self) -> bool:
        """Tell whether the thread still runs."""
        return self._thread is not None and self._thread.is_alive()

    def close(self) -> None:
        """Close the connection."""
        self._close()

    def _execute(self, statement: str) -> None:
        try:
            self._answer = (self._run(statement), None)
        except psycopg.Error as error:
            self._answer = ([], error.sqlstate or type(error).__name__)
        except pymysql.MySQLError as error:
            self._answer = ([], str(error.args[0]))


class SqliteSession:
    """A connection to a SQLite file that never waits: SQLITE_BUSY is a wait, tried again when another session has moved."""

    def __init__(self, path: str) -> None:
        self._connection = sqlite3.connect(path, timeout=0, isolation_level=None)
        self._statement = ""

    def send(self, statement: str) -> None:
        """Note the statement, which `answer` tries."""
        self._statement = statement

    def answer(self) -> tuple[Rows, str | None] | None:
        """Try the statement; SQLITE_BUSY_SNAPSHOT and what else isn't plain SQLITE_BUSY are errors."""
        try:
            return self._connection.execute(self._statement).fetchall(), None
        except sqlite3.OperationalError as error:
            return None if error.sqlite_errorcode == sqlite3.SQLITE_BUSY else ([], str(error.sqlite_errorcode))

    def busy(self) -> bool:
        """Return false: nothing is tried but in `answer`."""
        return False

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def postgresql(url: str, observer: Observer) -> ServerSession:
    """Open a session on PostgreSQL."""
    connection = connections.postgresql(url)

    def run(statement: str) -> Rows:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []

    return ServerSession(connection.info.backend_pid, run, connection.close, observer)


def mysql(url: str, observer: Observer, *settings: str) -> ServerSession:
    """Open a session on MariaDB or MySQL, beginning with the statements `settings`."""
    connection = connections.mysql(url)

    def run(statement: str) -> Rows:
        with connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall()) if cursor.description else []

    for statement in settings:
        run(statement)
    [[backend]] = run("SELECT CONNECTION_ID()")
    return ServerSession(backend, run, connection.close, observer)
