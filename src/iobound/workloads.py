"""What is asked of a target: workloads by name, as exchanges whose answers are known.

A composed target answers every workload with the same bytes: JSON without spaces, non-ASCII as is, keys in the order of
the columns, no newline at the end.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Literal

from iobound import dataset
from iobound.errors import UsageError, nearest
from iobound.load.spec import Exchange
from iobound.records import Workload

Need = Literal["nothing", "sql", "cache", "sleeping-sql"]

ROTATION = 60  # different requests that a block rotates through


def canonical(value: object) -> bytes:
    """Return `value` as the one JSON text that all composed targets answer."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def _plain(workload: Workload, draw: random.Random) -> list[Exchange]:
    return [Exchange(path="/plain", status=200, answer=b"Hello, World!")]


def _json(workload: Workload, draw: random.Random) -> list[Exchange]:
    return [Exchange(path="/json", status=200, answer=canonical({"message": "Hello, World!"}))]


def _file(workload: Workload, draw: random.Random) -> list[Exchange]:
    return [Exchange(path="/file", status=200, answer=dataset.file_text().encode())]


def _sql_point(workload: Workload, draw: random.Random) -> list[Exchange]:
    numbers = [draw.randint(1, workload.rows) for _ in range(ROTATION)]
    return [Exchange(path=f"/sql-point?id={n}", status=200, answer=canonical(dataset.item(n))) for n in numbers]


def _sql_list(workload: Workload, draw: random.Random) -> list[Exchange]:
    return [Exchange(path="/sql-list", status=200, answer=canonical(dataset.items(workload.rows)))]


def _sql_multi(workload: Workload, draw: random.Random) -> list[Exchange]:
    exchanges = []
    for _ in range(ROTATION):
        ids = [draw.randint(1, workload.rows) for _ in range(workload.reads)]
        path = "/sql-multi?ids=" + ",".join(map(str, ids))
        exchanges.append(Exchange(path=path, status=200, answer=canonical([dataset.item(n) for n in ids])))
    return exchanges


def _insert(draw: random.Random) -> Exchange:
    entry = canonical({"name": f"entry {draw.randint(1, 10**6)}", "quantity": draw.randint(0, 999)})
    headers = {"Content-Type": "application/json"}
    return Exchange(method="POST", path="/sql-insert", headers=headers, body=entry, status=201, answer=entry)


def _sql_insert(workload: Workload, draw: random.Random) -> list[Exchange]:
    return [_insert(draw) for _ in range(ROTATION)]


def _redis_get(workload: Workload, draw: random.Random) -> list[Exchange]:
    entries = [dataset.cache_entry(draw.randint(1, dataset.CACHE_ENTRIES)) for _ in range(ROTATION)]
    return [
        Exchange(path=f"/redis-get?key={key}", status=200, answer=canonical({"key": key, "value": value}))
        for key, value in entries
    ]


def _db_wait(workload: Workload, draw: random.Random) -> list[Exchange]:
    ms = f"{workload.wait_ms:g}"
    return [Exchange(path=f"/db-wait?ms={ms}", status=200, answer=canonical({"waited_ms": float(ms)}))]


def _mixed(workload: Workload, draw: random.Random) -> list[Exchange]:
    points = _sql_point(workload, draw)
    return [_insert(draw) if number % 5 == 4 else point for number, point in enumerate(points)]


_MAKERS: dict[str, tuple[Need, Callable[[Workload, random.Random], list[Exchange]]]] = {
    "plain": ("nothing", _plain),
    "json": ("nothing", _json),
    "file": ("nothing", _file),
    "sql-point": ("sql", _sql_point),
    "sql-list": ("sql", _sql_list),
    "sql-multi": ("sql", _sql_multi),
    "sql-insert": ("sql", _sql_insert),
    "redis-get": ("cache", _redis_get),
    "db-wait": ("sleeping-sql", _db_wait),
    "mixed": ("sql", _mixed),
}

NAMES = list(_MAKERS)


def parse(text: str) -> Workload:
    """Read ``name`` or ``name:parameter``: the parameter is rows (sql-list, sql-point), reads (sql-multi) or ms (db-wait).

    Raises `UsageError` for an unknown name (naming the nearest) or a parameter that doesn't fit.
    """
    name, _, parameter = text.partition(":")
    if name not in _MAKERS:
        raise UsageError(nearest(name, NAMES, "workload"))
    if not parameter:
        return Workload(name=name)
    try:
        match name:
            case "sql-list" if 0 <= int(parameter) <= 10_000:
                return Workload(name=name, rows=int(parameter))
            case "sql-point" | "mixed" if 1 <= int(parameter) <= 10_000:
                return Workload(name=name, rows=int(parameter))
            case "sql-multi" if 1 <= int(parameter) <= 500:
                return Workload(name=name, reads=int(parameter))
            case "db-wait" if 0 <= float(parameter) <= 10_000:
                return Workload(name=name, wait_ms=float(parameter))
    except ValueError:
        pass
    raise UsageError(
        f"workload {text!r}: {parameter!r} is no parameter of {name}; "
        "sql-list:ROWS (0-10000), sql-point:ROWS, mixed:ROWS (1-10000), sql-multi:READS (1-500) and db-wait:MS take one"
    )


def need(workload: Workload) -> Need:
    """Tell what a target must reach to serve `workload`."""
    return _MAKERS[workload.name][0]


def writes(workload: Workload) -> bool:
    """Tell whether `workload` inserts rows into ``entry``."""
    return workload.name in {"sql-insert", "mixed"}


def exchanges(workload: Workload, seed: int = 0) -> list[Exchange]:
    """Return the exchanges of `workload` that composed targets must answer, the same for the same seed."""
    return _MAKERS[workload.name][1](workload, random.Random(seed))
