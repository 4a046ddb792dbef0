"""Cells of transfers for tests."""

from __future__ import annotations

from typing import Any

from iobound.records import TransferCell


def cell(strategy: str, database: str, **other: Any) -> TransferCell:
    drivers = {"postgresql": "psycopg", "mariadb": "pymysql", "sqlite": "sqlite3"}
    values = {"isolation": "", "model": "threads", "driver": drivers[database], "workers": 2, "seconds": 0.2, "accounts": 2, "balance": 8}
    return TransferCell(id=strategy, service=database, strategy=strategy, **{**values, **other})
