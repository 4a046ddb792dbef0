"""The records of the experiment ``transfer``: money moved between few accounts by several workers, and whether it adds up."""

from __future__ import annotations

from typing import Literal

from iobound.records.base import Interval
from iobound.records.scripts import Sample, ScriptCell, ScriptSummary

Outcome = Literal["correct", "wrong", "stuck", "errors", "no-contention"]


class TransferCell(ScriptCell, frozen=True, kw_only=True, tag="transfer"):
    """A strategy at an isolation level of a database, under a concurrency model.

    `workers` have a connection each, and transfer one unit at a time for `seconds` between `accounts` that hold `balance`
    each. `pause_ms` is how long the database sleeps between the reading and the writing of a transfer; it is 0 but in tests.
    `driver` is ``None`` where no driver goes with the model. `explored` asks for every schedule of two transfers as well.
    """

    isolation: str
    model: str
    strategy: str
    driver: str | None
    workers: int
    seconds: float
    accounts: int = 4
    balance: int = 20
    pause_ms: float = 0.0
    explored: bool = False


class TransferSample(Sample, frozen=True, tag="transfer"):
    """What one launch did, counted by its workers, and the accounts as the database had them afterwards.

    `balances` are those, `expected` what the transfers that the database acknowledged make of them, account by account; the
    first is the vault, which all others were emptied into at the end. `acknowledged` counts these transfers, `timed` those
    within `seconds`, `refused` those for which the payer hadn't enough, `contended` those during which another was between one
    of the same accounts. `aborts` counts by kind what ended a transaction, which was then tried again (`retries`) while there
    was time, `given_up` the transfers tried in vain within one transaction, `errors` all other exceptions. `unfinished` workers
    still hung when they were no longer waited for. `schedules` has the outcome of each schedule of two transfers that both
    want the payer's only unit, where that was asked for; `unexplored` says why it couldn't be had.
    """

    seconds: float
    timed: int
    acknowledged: int
    refused: int
    contended: int
    retries: int
    given_up: int
    unfinished: int
    balances: list[int]
    expected: list[int]
    aborts: dict[str, int]
    errors: dict[str, int]
    schedules: dict[str, str] | None = None
    unexplored: str | None = None


class TransferSummary(ScriptSummary, frozen=True, tag="transfer"):
    """A strategy with its throughput and its correctness. All counts are sums over all launches, disturbed ones too.

    `lost_updates` is the sum over accounts of the difference between the balance and what the acknowledged transfers make it.
    It is the least number of updates of one unit that are missing, or there without an acknowledgement, for opposite ones in
    an account cancel. `overdrafts` counts accounts below zero at the end, `money_created` is the change of the sum of all
    accounts (negative: money vanished). `transactions_per_second` counts acknowledged transfers; `relative` is that against
    the cell `relative_to`, where both are correct. `busy` counts refusals of SQLite to let a transaction wait that has read,
    `version_conflicts` versions that had changed.

    `verdict` is ``wrong``; ``stuck`` where transfers were given up; ``errors`` where exceptions came
    out of transfers; ``no-contention`` where no two transfers met, so that nothing is shown; else ``correct``, which means that
    nothing wrong was seen.
    """

    database: str
    isolation: str
    model: str
    strategy: str
    driver: str | None
    workers: int
    processes: int
    verdict: Outcome
    transactions_per_second: Interval | None
    relative: Interval | None
    relative_to: str | None
    transfers: int
    contended: int
    lost_updates: int
    overdrafts: int
    money_created: int
    deadlocks: int
    serialization_failures: int
    lock_timeouts: int
    busy: int
    version_conflicts: int
    retries: int
    given_up: int
    unfinished: int
    errors: dict[str, int]
    schedules: dict[str, str] | None = None
    unexplored: str | None = None
