"""The name of what went wrong, from what the sessions read and wrote when.

Names after Adya, Liskov and O'Neil (Generalized Isolation Level Definitions, ICDE 2000); P4 after Berenson et al. (SIGMOD
1995). All that one call does counts as its transaction, as its author means it, whether the code says so or not. Tables are
found by the words around their names, so what functions and triggers of the database do isn't seen: then there is no name.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from iobound.race import statements
from iobound.records.race import Execution, Step

LOST_UPDATE = "P4 (lost update)"
WRITE_SKEW = "G2-item (write skew)"
PHANTOM = "G2 (phantom: anti-dependency cycle over a predicate)"
READ_SKEW = "G-single (read skew)"
ABORTED_READ = "G1a (aborted read)"
DIRTY_READ = "G1b (dirty read)"

SOURCES = {"from", "join", "into", "update", "table", "using"}
WHERE = re.compile(r"\bwhere\b(.*?)(?:\b(?:returning|order|for|limit|group)\b|;|$)", re.IGNORECASE | re.DOTALL)
NUMBERED = re.compile(r"\$(\d+)")
PREDICATE = re.compile(
    r"\b(?:count|sum|max|min|avg|exists|any|all)\s*\(|[<>]|\bin\b|\blike\b|\bbetween\b|\bnot\b", re.IGNORECASE
)


@dataclass(frozen=True)
class Named:
    """An anomaly and the place of the read that was stale."""

    name: str
    stale: int | None


@dataclass(frozen=True)
class _Access:
    """One statement's use of one table. `seen` is when others could see what it wrote: the place of the commit."""

    place: int
    session: int
    table: str
    verb: Literal["read", "insert", "update", "delete"]
    key: str
    locks: bool
    seen: int
    predicate: bool


def find(execution: Execution) -> Named | None:
    """Return the anomaly of an execution that went wrong, ``None`` where what was observed shows none."""
    accesses = list(_accesses(execution))
    reads = [access for access in accesses if access.verb == "read"]
    writes = [access for access in accesses if access.verb != "read"]
    found: list[tuple[int, Named]] = []
    for read in reads:
        for write in writes:
            if write.session == read.session or write.table != read.table:
                continue
            if _missed(read, write):
                found.extend(_closing(read, write, reads, writes))
            elif write.place < read.place < write.seen and _shows(execution, read, write):
                rolled_back = any(step.kind == "rollback" and step.session == write.session for step in execution.steps)
                found.append((0, Named(ABORTED_READ if rolled_back else DIRTY_READ, read.place)))
    return min(found, key=lambda each: (each[0], each[1].stale or 0))[1] if found else None


def _missed(read: _Access, write: _Access) -> bool:
    """Tell whether the read came before the write could be seen: an anti-dependency from reader to writer."""
    return read.place < write.seen


def _closing(read: _Access, write: _Access, reads: list[_Access], writes: list[_Access]) -> Iterator[tuple[int, Named]]:
    """Return the dependencies by which the writer comes before the reader as well, so that no order of the two is right."""
    for own in writes:
        if own.session != read.session or own.place < read.place:
            continue
        if own.table == write.table and own.verb == write.verb == "update" and own.key == write.key and own.seen > write.seen:
            yield 1, Named(LOST_UPDATE, read.place)
        for other in reads:
            if (
                other.session == write.session
                and other.table == own.table
                and other.place < write.place
                and _missed(other, own)
            ):
                inserts = "insert" in (own.verb, write.verb) or "delete" in (own.verb, write.verb)
                yield 2, Named(PHANTOM if inserts else WRITE_SKEW, read.place)
    for again in reads:
        if again.session == read.session and again.place > read.place and write.seen <= again.place:
            yield 3, Named(READ_SKEW, read.place)


def _shows(execution: Execution, read: _Access, write: _Access) -> bool:
    """Tell whether a read returned what an uncommitted write had written."""
    written = {value for value in execution.steps[write.place].parameters if value is not None}
    written |= set(re.findall(r"(?<==)\s*'?(\w+)'?", execution.steps[write.place].sql.partition("where")[0]))
    return any(value in written for row in execution.steps[read.place].rows for value in row)


def _accesses(execution: Execution) -> Iterator[_Access]:
    for place, step in enumerate(execution.steps):
        if step.kind != "statement" or step.failure:
            continue
        words = [word.lower() for word in statements.words(step.sql)]
        verb = next((word for word in words if word in ("select", "insert", "update", "delete", "replace")), "")
        tables = [name.rpartition(".")[2] for word, name in itertools.pairwise(words) if word in SOURCES and name != "("]
        seen = _seen(execution, place)
        if not verb or not tables or seen is None:
            continue
        key = _key(step)
        locks = "for" in words
        predicate = bool(PREDICATE.search(step.sql))
        written = tables[0]
        if verb == "select":
            if "update" in tables:
                tables.remove("update")
            for table in tables:
                yield _Access(place, step.session, table, "read", key, locks, seen, predicate)
            continue
        what: Literal["insert", "update", "delete"] = (
            "insert" if verb in ("insert", "replace") else "update" if verb == "update" else "delete"
        )
        if step.affected != 0:
            yield _Access(place, step.session, written, what, key, True, seen, predicate)
        for table in tables[1:]:
            if table not in ("set", "update"):
                yield _Access(place, step.session, table, "read", key, locks, seen, predicate)


def _seen(execution: Execution, place: int) -> int | None:
    """Return the place from which others see what a statement did; ``None`` where it was undone."""
    step = execution.steps[place]
    same = [
        (at, other)
        for at, other in enumerate(execution.steps)
        if (other.session, other.connection) == (step.session, step.connection)
    ]
    inside = False
    for at, other in same:
        if other.kind == "begin":
            inside = True
        elif other.kind in ("commit", "rollback"):
            if at > place:
                return None if other.kind == "rollback" or other.failure else at
            inside = False
        if (
            at == place
            and not inside
            and not any(later > place and each.kind in ("commit", "rollback") for later, each in same)
        ):
            return place
    return None if inside else place


def _key(step: Step) -> str:
    """Return the condition of a statement with its parameters filled in: what tells its row."""
    found = WHERE.search(step.sql)
    if not found:
        return ""
    before = step.sql[: found.start()].count("?")
    rest = iter(step.parameters[before:])
    text = NUMBERED.sub(lambda match: str(_nth(step.parameters, int(match[1]))), found[1])
    return " ".join(re.sub(r"\?", lambda _: str(next(rest, "?")), text).lower().split())


def _nth(parameters: list[str | None], number: int) -> str | None:
    return parameters[number - 1] if number <= len(parameters) else "?"
