"""Cells of transfers for tests: two workers between two accounts."""

from __future__ import annotations

from typing import Any

from iobound.lab import transfers
from iobound.records import TransferCell


def cell(strategy: str, database: str, model: str = "threads", isolation: str | None = None, **other: Any) -> TransferCell:
    usual = transfers.LEVELS[database][0]
    values: dict[str, Any] = {"workers": 2, "seconds": 0.2, "accounts": 2, "balance": 8, **other}
    return TransferCell(
        id=f"{database}/{model}/{strategy}",
        service=database,
        strategy=strategy,
        model=model,
        driver=transfers.DRIVERS[database][model],
        isolation=isolation or usual,
        **values,
    )
