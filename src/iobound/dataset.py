"""The data that targets serve: the same rows, cache entries and file everywhere, made from nothing but arithmetic.

Table ``item(id INTEGER PRIMARY KEY, name VARCHAR(64) NOT NULL, quantity INTEGER NOT NULL)`` holds `items(n)`; it is only read.
Table ``entry(id <auto-increment> PRIMARY KEY, name VARCHAR(64) NOT NULL, quantity INTEGER NOT NULL)`` starts empty; it is only
inserted into. The cache holds `CACHE_ENTRIES` keys.
"""

from __future__ import annotations

from typing import TypedDict

CACHE_ENTRIES = 100


class Item(TypedDict):
    """One row, in the order of its columns, as every target answers it."""

    id: int
    name: str
    quantity: int


def item(number: int) -> Item:
    """Return row `number`, counted from 1."""
    return {"id": number, "name": f"item {number:05d} of the catalogue", "quantity": number * 7919 % 1000}


def items(count: int) -> list[Item]:
    """Return rows 1 to `count`."""
    return [item(number) for number in range(1, count + 1)]


def cache_entry(number: int) -> tuple[str, str]:
    """Return key and value number `number`, counted from 1 to `CACHE_ENTRIES`."""
    return f"key:{number}", f"value {number * 7919 % 1000:03d} of the cache"


def file_text() -> str:
    """Return the content of the file that the ``file`` workload reads: 4,000 ASCII bytes."""
    return "".join(f"line {number:03d} of the file that is read for every request\n" for number in range(1, 79))[:4000]
