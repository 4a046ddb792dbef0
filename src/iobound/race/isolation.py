"""Which anomalies a server admits at each isolation level: measured by scripts of statements, held against what is known."""

from __future__ import annotations

import re
import tomllib
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from importlib import resources
from urllib.parse import urlsplit

from iobound.errors import LabError, UsageError, nearest
from iobound.lab import service, urls
from iobound.lab.service import ServiceOptions
from iobound.race import scripted
from iobound.race.anomalies import ANOMALIES, ROWS, TABLE, History, Rows, Step
from iobound.race.locks import observe
from iobound.race.scripted import Session, SqliteSession
from iobound.records.base import Record

SERVICES = {"postgresql": "postgresql", "postgres": "postgresql", "mysql": "mariadb", "mariadb": "mariadb", "sqlite": "sqlite"}
STANDARD = ("read committed", "repeatable read", "serializable")
SNAPSHOT = "innodb_snapshot_isolation"

Results = dict[str, str]
"""By anomaly: ``prevented``, ``observed``, or the code of the error by which the server refuses."""


class Known(Record, frozen=True):
    """What a version of a server is known to admit, by level."""

    server: str
    version: str
    levels: dict[str, Results]


class Difference(Record, frozen=True):
    """One result that isn't as known."""

    level: str
    anomaly: str
    expected: str
    measured: str


class Matrix(Record, frozen=True):
    """What was measured, and how it differs from what is known of `compared_with`: the same version, or the `nearest`."""

    server: str
    version: str
    levels: dict[str, Results]
    compared_with: str
    nearest: bool
    differences: list[Difference]


def measure(database: str, progress: Callable[[str], None] = lambda level: None) -> Matrix:
    """Measure a server by name (a private one is started) or by URL (only a database of our own is touched).

    Raises `UsageError`, or `LabError` where the server can't be had or hides its locks. Leaves nothing behind.
    """
    by_url = "://" in database
    name = SERVICES.get(urlsplit(database).scheme if by_url else database)
    if name is None:
        shown = urls.shown(database) if by_url else database
        raise UsageError(f"--database: {nearest(shown, sorted(SERVICES), 'database')}")
    if by_url and name == "sqlite":
        raise UsageError("--database: SQLite has no server; write sqlite, and a file of our own is used")
    levels: dict[str, Results] = {}
    with service.find(name).start(ServiceOptions(url=database if by_url else None)) as running, ExitStack() as exits:
        url = running.dataset(0)
        version = running.info().version
        try:
            for level in _levels(name, url, exits):
                progress(level.name)
                levels[level.name] = _measure(level)
        except KeyboardInterrupt as interrupt:
            # A connection that was just being opened lives on in these frames, and PostgreSQL drops no database meanwhile.
            traceback.clear_frames(interrupt.__traceback__)
            raise
    server = {"postgresql": "PostgreSQL", "sqlite": "SQLite"}.get(name, "MariaDB" if "MariaDB" in version else "MySQL")
    return compare(server, version.partition("-")[0], levels)


def known() -> list[Known]:
    """Return what was measured before, as kept beside this file."""
    text = (resources.files("iobound.race") / "isolation_matrix.toml").read_text()
    return [Known(**one) for one in tomllib.loads(text)["known"]]


def compare(server: str, version: str, levels: dict[str, Results]) -> Matrix:
    """Hold results against what is known of the version, else of the newest before it, else of the oldest.

    MySQL is held against MariaDB, and a server without snapshot isolation against one that has it off.
    """
    alike = [one for one in known() if one.server == ("MariaDB" if server == "MySQL" else server)]
    older = [one for one in alike if _numbers(one.version) <= _numbers(version)]
    like = max(older, key=lambda one: _numbers(one.version)) if older else min(alike, key=lambda one: _numbers(one.version))
    differences = [
        Difference(level=level, anomaly=anomaly, expected=before, measured=result)
        for level, results in levels.items()
        for anomaly, before in (like.levels.get(level) or like.levels.get(f"{level} ({SNAPSHOT}=OFF)", {})).items()
        if (result := results[anomaly]) != before
    ]
    return Matrix(
        server=server,
        version=version,
        levels=levels,
        compared_with=f"{like.server} {like.version}",
        nearest=(like.server, like.version) != (server, version),
        differences=differences,
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))


@dataclass(frozen=True)
class _Level:
    """How a session of a level is opened, and how its transactions begin."""

    name: str
    open: Callable[[], Session]
    begin: str


def _levels(name: str, url: str, exits: ExitStack) -> Iterator[_Level]:
    """Return the levels of the service `name`; what they share is closed by `exits`."""
    if name == "sqlite":
        path = f"/{urls.database(url)}"
        yield _Level("WAL, deferred BEGIN", lambda: SqliteSession(path), "BEGIN")
        yield _Level("BEGIN IMMEDIATE", lambda: SqliteSession(path), "BEGIN IMMEDIATE")
        return
    observer = observe(url)
    exits.callback(observer.close)
    if name == "postgresql":
        for level in STANDARD:
            yield _Level(level, lambda: scripted.postgresql(url, observer), f"BEGIN ISOLATION LEVEL {level}")
        return
    with closing(scripted.mysql(url, observer)) as session:
        switchable = bool(_ask(session, f"SHOW VARIABLES LIKE '{SNAPSHOT}'"))
    for level in ("read uncommitted", *STANDARD):
        isolation = f"SET SESSION TRANSACTION ISOLATION LEVEL {level}"
        if switchable and level in ("repeatable read", "serializable"):
            for switch in ("OFF", "ON"):
                settings = (isolation, f"SET SESSION {SNAPSHOT} = {switch}")
                yield _Level(f"{level} ({SNAPSHOT}={switch})", partial(scripted.mysql, url, observer, *settings), "BEGIN")
        else:
            yield _Level(level, partial(scripted.mysql, url, observer, isolation), "BEGIN")


def _measure(level: _Level) -> Results:
    """Play the script of each anomaly on three sessions."""
    with ExitStack() as exits:
        control = exits.enter_context(closing(level.open()))
        sessions = {number: level.open() for number in (1, 2, 3)}
        exits.callback(scripted.close, list(sessions.values()))
        _ask(control, f"CREATE TABLE IF NOT EXISTS {TABLE} (id integer PRIMARY KEY, value integer NOT NULL)")
        results = {}
        for anomaly in ANOMALIES:
            _ask(control, f"DELETE FROM {TABLE}")
            _ask(control, f"INSERT INTO {TABLE} VALUES {', '.join(map(str, ROWS.items()))}")
            begun = [Step(number, level.begin) for number in sorted({step.session for step in anomaly.steps})]
            events = scripted.play([*begun, *anomaly.steps], sessions)
            history = History(events, dict(_ask(control, f"SELECT id, value FROM {TABLE}")))
            results[anomaly.name] = anomaly.result(history)
        return results


def _ask(session: Session, statement: str) -> Rows:
    """Return the rows of a statement that no one holds up."""
    session.send(statement)
    answer = session.answer()
    if answer is None or answer[1]:
        raise LabError(f"{statement!r} failed: {answer[1] if answer else 'it waits for a lock that no one should hold'}")
    return answer[0]
