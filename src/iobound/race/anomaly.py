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
from functools import partial
from typing import Literal

from iobound.race import statements
from iobound.records.race import Execution, Step

LOST_UPDATE = "P4 (lost update)"
WRITE_SKEW = "G2-item (write skew)"
PHANTOM = "G2 (phantom: anti-dependency cycle over a predicate)"
READ_SKEW = "G-single (read skew)"
ABORTED_READ = "G1a (aborted read)"
DIRTY_READ = "G1b (dirty read)"

VERBS: dict[str, Literal["read", "insert", "update", "delete"]] = {
    "select": "read",
    "insert": "insert",
    "replace": "insert",
    "update": "update",
    "delete": "delete",
}
ENDS_AND_BEGINNINGS = {"begin", "commit", "rollback"}
SOURCES = {"from", "join", "into", "update", "table", "using"}
WHERE = re.compile(r"\bwhere\b(.*?)(?:\b(?:returning|order|for|limit|group)\b|;|$)", re.IGNORECASE | re.DOTALL)
NUMBERED = re.compile(r"\$(\d+)")


@dataclass(frozen=True)
class Named:
    """An anomaly and the place of the read that was stale."""

    name: str
    stale: int | None


@dataclass(frozen=True)
class _Access:
    """One statement's use of one table. `seen` is when others could see what it wrote: the place of the end of its transaction,
    which `undone` it where it was rolled back.
    """

    place: int
    session: int
    table: str
    verb: Literal["read", "insert", "update", "delete"]
    key: str
    seen: int
    undone: bool


def find(execution: Execution, isolation: str | None = None) -> Named | None:
    """Return the anomaly of an execution that went wrong, ``None`` where what was observed shows none."""
    accesses = list(_accesses(execution))
    reads = [access for access in accesses if access.verb == "read"]
    writes = [access for access in accesses if access.verb != "read"]
    kept = [write for write in writes if not write.undone]
    found: list[tuple[int, Named]] = []
    for read, write in itertools.product(reads, writes):
        if write.session == read.session or write.table != read.table:
            continue
        if isolation == "read uncommitted" and write.place < read.place < write.seen and _shows(execution, read, write):
            found.append((0, Named(ABORTED_READ if write.undone else DIRTY_READ, read.place)))
        elif _missed(read, write) and not write.undone and not read.undone:
            found.extend(_closing(read, write, reads, kept))
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
        verb = next((word for word in words if word in VERBS), None)
        tables = [
            name.rpartition(".")[2]
            for word, name in itertools.pairwise(words)
            if word in SOURCES
            and re.match(r"\w", name)
            and (word, name) != ("update", "set")
            and name not in ("update", "nowait")
        ]
        if verb is None or not tables:
            continue
        seen, undone = _seen(execution, place)
        read = partial(_Access, place=place, session=step.session, verb="read", key=_key(step), seen=seen, undone=undone)
        if VERBS[verb] != "read":
            table = tables.pop(0)
            if step.affected != 0:
                yield read(table=table, verb=VERBS[verb])
        for table in tables:
            yield read(table=table)


def _seen(execution: Execution, place: int) -> tuple[int, bool]:
    """Return the place from which others see what a statement did, and whether it was undone then."""
    step = execution.steps[place]
    same = [
        each for each in enumerate(execution.steps) if (each[1].session, each[1].connection) == (step.session, step.connection)
    ]
    before = [each.kind for at, each in same if at < place and each.kind in ENDS_AND_BEGINNINGS]
    after = [(at, each) for at, each in same if at > place and each.kind in ENDS_AND_BEGINNINGS]
    if after and after[0][1].kind != "begin":  # with or without a BEGIN: some drivers and servers begin by themselves
        at, end = after[0]
        return at, end.kind == "rollback" or end.failure is not None
    return place, bool(before) and before[-1] == "begin"  # in a transaction that was never ended, or committed by itself


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
