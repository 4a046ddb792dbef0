"""A history for Elle (Kingsbury and Alvaro, VLDB 2020), Jepsen's checker, as its model rw-register reads it: a map a line.

A register is a column of what a condition chooses, such as "voucher.used where id = 1": read by a SELECT that returned one
row, written by an UPDATE. A write has the value that the statement gives, or where the database computes it, one that is found
nowhere else. Statements on several tables, INSERT and DELETE have no register: what depends on them Elle doesn't see.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from iobound.errors import UsageError
from iobound.records.race import Report, Step, letter

READ = re.compile(r"\s*select\b.*?\bfrom\s+([\w.\"`]+)(?:\s+where\s+(.*?))?\s*(?:\bfor\b.*)?;?\s*", re.IGNORECASE | re.DOTALL)
WRITE = re.compile(
    r"\s*update\s+([\w.\"`]+)\s+set\s+(.*?)(?:\s+where\s+(.*?))?\s*(?:\breturning\b.*)?;?\s*", re.IGNORECASE | re.DOTALL
)
ASSIGNED = re.compile(r"([\w\"`]+)\s*=\s*((?:[^,()]|\([^()]*\))+)")
PARAMETER = re.compile(r"\$(\d+)")
CONSTANT = re.compile(r"-?\d+|'([^']*)'")


@dataclass
class _Transaction:
    """What a session did up to its commit, between two places of the history."""

    session: int
    began: int
    operations: list[tuple[str, str, str | None]] = field(default_factory=list)
    ended: int = 0
    how: str = "info"


def render(report: Report) -> str:
    """Return the history of the first violated level's example; raises `UsageError` where there is none."""
    for level in report.levels:
        if level.example:
            return "".join(f"{line}\n" for line in _lines(list(_transactions(level.example.execution.steps))))
    raise UsageError("elle shows a schedule that goes wrong; here none does")


def _lines(transactions: list[_Transaction]) -> Iterator[str]:
    """Write each transaction twice, as it was begun and as it ended, in the order of both."""
    events = [(each.began, "invoke", each) for each in transactions] + [(each.ended, each.how, each) for each in transactions]
    for index, (_, type_, each) in enumerate(sorted(events, key=lambda event: event[0])):
        known = type_ == "ok"
        operations = " ".join(
            f"[:{what} {_edn(register)} {_edn(value if known or what == 'w' else None)}]"
            for what, register, value in each.operations
        )
        yield f"{{:index {index}, :type :{type_}, :process {each.session}, :f :txn, :value [{operations}]}}"


def _edn(value: str | None) -> str:
    if value is None:
        return "nil"
    return value if re.fullmatch(r"-?\d{1,18}", value) else json.dumps(value, ensure_ascii=False)


def _transactions(steps: list[Step]) -> Iterator[_Transaction]:
    """Cut the steps of each connection into transactions; a statement outside of any is one by itself."""
    begun: dict[int, _Transaction] = {}
    for place, step in enumerate(steps):
        if step.kind == "begin":
            begun[step.connection] = _Transaction(step.session, 2 * place)
            continue
        current = begun.get(step.connection)
        if step.kind == "statement":
            transaction = current or _Transaction(step.session, 2 * place)
            if step.failure:
                transaction.how = "fail"
            else:
                transaction.operations += _operations(step)
            if current is None:
                yield _over(transaction, "ok", place)
        elif step.kind in ("commit", "rollback") and current:
            del begun[step.connection]
            yield _over(current, "ok" if step.kind == "commit" and not step.failure else "fail", place)
    for transaction in begun.values():
        yield _over(transaction, transaction.how, len(steps))


def _over(transaction: _Transaction, how: str, place: int) -> _Transaction:
    transaction.how = "fail" if transaction.how == "fail" else how
    transaction.ended = 2 * place + 1
    return transaction


def _operations(step: Step) -> Iterator[tuple[str, str, str | None]]:
    read = READ.fullmatch(step.sql)
    if read and "," not in step.sql[read.start(1) - 5 : read.end(1) + 2] and len(step.rows) == 1:
        for column, value in zip(step.columns, step.rows[0], strict=False):
            yield "r", _register(step, read[1], column, read[2]), value
    write = WRITE.fullmatch(step.sql)
    if write and step.affected != 0:
        for column, given in ASSIGNED.findall(write[2]):
            unique = f"{letter(step.session)}{step.index}"
            yield "w", _register(step, write[1], column, write[3]), _value(step, given.strip()) or unique


def _register(step: Step, table: str, column: str, condition: str | None) -> str:
    where = f" where {' '.join(_filled(step, condition).split())}" if condition else ""
    return f"{table}.{column}{where}".replace('"', "").replace("`", "").lower()


def _filled(step: Step, text: str) -> str:
    """Return `text` with the parameters in their places."""

    def value(match: re.Match[str]) -> str:
        number = int(match[1])
        return str(step.parameters[number - 1]) if number <= len(step.parameters) else match[0]

    return PARAMETER.sub(value, text)


def _value(step: Step, given: str) -> str | None:
    """Return the constant that a column is set to, ``None`` where the database computes it."""
    constant = CONSTANT.fullmatch(_filled(step, given))
    return (constant[1] if constant[1] is not None else constant[0]) if constant else None
