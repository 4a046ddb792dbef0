"""One launch of a transfer: workers move money between accounts that are new each time, then the accounts are read."""

from __future__ import annotations

from collections import Counter

from iobound.errors import LabError, Unavailable
from iobound.lab import accounts, scripts, transfers
from iobound.lab.environments import environment
from iobound.lab.laboratory import Laboratory
from iobound.lab.scripts import Line
from iobound.measure.rounds import Turn
from iobound.measure.schedules import Table, explore
from iobound.measure.watch import watch
from iobound.records import TransferCell, TransferSample

LOCK = "catalogue"
EMPTYING_S = 2.0  # at most, after the measured seconds
PATIENCE_S = 20.0  # with workers, starting included: what takes longer hangs
TIMEOUT_S = 10.0  # with the program, beyond that
LOCK_TIMEOUT_S = 2.0
DEADLOCK_TIMEOUT_S = 0.01  # of PostgreSQL, which otherwise looks for deadlocks after 1 s


def environments(cell: TransferCell) -> list[tuple[str, str | None]]:
    """Return the locked environment that the drivers are in."""
    return [(LOCK, cell.python)]


def measure(cell: TransferCell, turn: Turn, laboratory: Laboratory) -> TransferSample:
    """Transfer once under what `cell` says.

    Raises `Unavailable` for a combination that doesn't exist, with why, and `LabError` where a worker ends before its time.
    """
    assert cell.service
    reason = transfers.impossible(cell.service, cell.isolation, cell.model, cell.strategy)
    if reason:
        raise Unavailable(reason)
    assert cell.driver
    service = laboratory.service(cell.service)
    url = service.scratch("transfer")
    if cell.isolation == "snapshot isolation" and not accounts.knows_snapshot_isolation(url):
        raise Unavailable(f"{service.info().version} has no innodb_snapshot_isolation; MariaDB has it from 10.6.18 on")
    opening = [0, *[cell.balance] * cell.accounts]
    accounts.make(url, opening)
    job = {
        "service": cell.service,
        "url": laboratory.over(url, cell.rtt_ms),
        "isolation": cell.isolation,
        "strategy": cell.strategy,
        "workers": cell.workers,
        "accounts": cell.accounts,
        "seconds": cell.seconds,
        "pause_s": cell.pause_ms / 1000,
        "emptying_s": EMPTYING_S,
        "patience_s": cell.seconds + PATIENCE_S,
        "lock_timeout_s": LOCK_TIMEOUT_S,
        "deadlock_timeout_s": DEADLOCK_TIMEOUT_S,
        "seed": f"{turn.seed}/{turn.launch}",
    }
    program = transfers.files(cell.model, cell.driver)
    with (
        watch(laboratory) as watched,
        scripts.launch(cell.id, program, environment(LOCK, cell.python), job, cpus=laboratory.placement.target) as script,
    ):
        ran, *workers = script.lines(cell.seconds + PATIENCE_S + TIMEOUT_S)
    if len(workers) != cell.workers:
        raise LabError(f"{cell.id}: {len(workers)} of {cell.workers} workers told what they transferred")
    schedules, unexplored = _schedules(cell, laboratory) if cell.explored and turn.launch == 0 else (None, None)
    return TransferSample(
        cell=cell.id,
        launch=turn.launch,
        control=turn.control,
        started=watched.started,
        noise=watched.noise,
        ran=ran["ran"],
        seconds=cell.seconds,
        timed=_sum(workers, "timed"),
        acknowledged=sum(_acknowledged(workers).values()),
        refused=_sum(workers, "refused"),
        contended=_sum(workers, "contended"),
        retries=_sum(workers, "retries"),
        given_up=_sum(workers, "given_up"),
        unfinished=sum(not worker["done"] for worker in workers),
        balances=accounts.balances(url),
        expected=_expected(opening, workers),
        aborts=_counts(workers, "aborts"),
        errors=_counts(workers, "errors"),
        schedules=schedules,
        unexplored=unexplored,
    )


def _schedules(cell: TransferCell, laboratory: Laboratory) -> tuple[Table | None, str | None]:
    """Return the outcome of every schedule, or why it can't be had; the rest of the sample is of use without."""
    assert cell.service
    try:
        return explore(laboratory, cell.service, cell.isolation, cell.model, cell.strategy), None
    except LabError as error:
        return None, str(error)


def _sum(workers: list[Line], name: str) -> int:
    return sum(int(worker[name]) for worker in workers)


def _counts(workers: list[Line], name: str) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for worker in workers:
        counts.update(worker[name])
    return dict(counts)


def _acknowledged(workers: list[Line]) -> Counter[tuple[int, int]]:
    """Count the acknowledged transfers between each payer and payee."""
    counts: Counter[tuple[int, int]] = Counter()
    for worker in workers:
        for payer, payee, count in worker["acknowledged"]:
            counts[payer, payee] += count
    return counts


def _expected(opening: list[int], workers: list[Line]) -> list[int]:
    """Return what the acknowledged transfers make of the balances that there were."""
    balances = list(opening)
    for (payer, payee), count in _acknowledged(workers).items():
        balances[payer] -= count
        balances[payee] += count
    return balances
