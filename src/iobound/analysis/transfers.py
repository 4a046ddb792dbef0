"""The cells of ``transfer`` as they came out: whether their accounts add up, and what they got done."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from iobound.analysis.sampled import Sampled
from iobound.analysis.words import listed
from iobound.records import Observation, TransferCell, TransferSample, TransferSummary
from iobound.records.transfer import Outcome

REFERENCES = ("for-update-ordered", "begin-immediate")  # what others are held against, where it's correct: the first there is
TITLES = {"postgresql": "PostgreSQL", "mariadb": "MariaDB", "sqlite": "SQLite"}

Transfers = Sampled[TransferCell, TransferSample]


def summarise(sampled: Transfers, observations: Iterable[Observation]) -> list[TransferSummary]:
    """Return a row for each cell that was launched, in the order of the plan.

    Throughput is that of undisturbed launches; that money is missing counts whatever disturbed the machine.
    """
    launches: dict[str, list[TransferSample]] = {id_: [] for id_ in sampled.cells}
    for seen in observations:
        if isinstance(seen, TransferSample):
            launches[seen.cell].append(seen)
    outcomes = {id_: _outcome(of) for id_, of in launches.items() if of}
    correct = [cell for cell in sampled.cells.values() if outcomes.get(cell.id) == "correct"]
    return [
        _summary(sampled, sampled.cells[id_], launches[id_], outcome, _reference(sampled.cells[id_], correct))
        for id_, outcome in outcomes.items()
    ]


def _reference(cell: TransferCell, correct: Sequence[TransferCell]) -> TransferCell | None:
    """Return what `cell` is held against: on the same database and over the same way, under threads if possible."""
    alike = [
        other
        for strategy in REFERENCES
        for other in correct
        if other.strategy == strategy
        and (other.service, other.workers, other.rtt_ms) == (cell.service, cell.workers, cell.rtt_ms)
    ]
    return next((other for other in alike if other.model == "threads"), alike[0] if alike else None)


def _outcome(launches: Sequence[TransferSample]) -> Outcome:
    """Return the first that applies of what can be said of a cell, worst first."""
    if any(sample.balances != sample.expected or min(sample.balances) < 0 for sample in launches):
        return "wrong"
    if any(sample.errors or sample.unfinished for sample in launches):
        return "errors"
    if any(sample.given_up for sample in launches):
        return "stuck"
    if not any(sample.contended for sample in launches):
        return "no-contention"
    return "correct"


def _summary(
    sampled: Transfers,
    cell: TransferCell,
    launches: Sequence[TransferSample],
    outcome: Outcome,
    reference: TransferCell | None,
) -> TransferSummary:
    aborts, errors = Counter[str](), Counter[str]()
    for sample in launches:
        aborts.update(sample.aborts)
        errors.update(sample.errors)
    lost = sum(abs(has - due) for sample in launches for has, due in zip(sample.balances, sample.expected, strict=True))
    overdrafts = sum(balance < 0 for sample in launches for balance in sample.balances)
    created = sum(sum(sample.balances) - sum(sample.expected) for sample in launches)
    given_up, unfinished = sum(sample.given_up for sample in launches), sum(sample.unfinished for sample in launches)
    transfers = sum(sample.acknowledged for sample in launches)
    ranked = reference if outcome == "correct" else None
    because: dict[Outcome, str | None] = {
        "correct": None,
        "wrong": f"of {transfers:,} acknowledged transfers {lost:,} updates are missing, {overdrafts} accounts below zero",
        "errors": f"{errors.total():,} errors came out of transfers, {unfinished} workers hung",
        "stuck": f"{given_up:,} transfers were given up after trying in vain within one transaction",
        "no-contention": "no two transfers met in an account, so nothing is shown",
    }
    return TransferSummary(
        id=cell.id,
        cell=cell.id,
        python=cell.python,
        service=cell.service,
        rtt_ms=cell.rtt_ms,
        valid=outcome == "correct",
        invalid_because=because[outcome],
        launches=len(sampled.samples[cell.id]),
        noisy=sampled.noisy[cell.id],
        ran=launches[-1].ran,
        database=cell.service or "",
        isolation=cell.isolation,
        model=cell.model,
        strategy=cell.strategy,
        driver=cell.driver,
        workers=cell.workers,
        processes=cell.workers if cell.model == "processes" else 1,
        verdict=outcome,
        transactions_per_second=sampled.mean(cell.id, per_second),
        relative=sampled.ratio(cell.id, ranked.id, per_second) if ranked else None,
        relative_to=ranked.id if ranked else None,
        transfers=transfers,
        contended=sum(sample.contended for sample in launches),
        lost_updates=lost,
        overdrafts=overdrafts,
        money_created=created,
        deadlocks=aborts["deadlock"],
        serialization_failures=aborts["serialization-failure"],
        lock_timeouts=aborts["lock-timeout"],
        busy=aborts["busy"],
        version_conflicts=aborts["version-changed"],
        retries=sum(sample.retries for sample in launches),
        given_up=given_up,
        unfinished=unfinished,
        errors=dict(errors),
        schedules=next((sample.schedules for sample in launches if sample.schedules), None),
        unexplored=next((sample.unexplored for sample in launches if sample.unexplored), None),
    )


def unserial(schedules: Mapping[str, str]) -> list[str]:
    """Return the schedules whose outcome is that of none in which one transfer follows the other."""
    serial = {outcome for schedule, outcome in schedules.items() if re.fullmatch("A+B+|B+A+", schedule)}
    return [schedule for schedule, outcome in schedules.items() if outcome not in serial]


def per_second(sample: TransferSample) -> float:
    """Return acknowledged transfers a second of the measured time."""
    return sample.timed / sample.seconds


def places(cells: Iterable[TransferSummary]) -> str:
    """List the databases and levels of `cells`: ``PostgreSQL at read committed and SQLite at serializable``."""
    found = dict.fromkeys((cell.database, cell.isolation) for cell in cells)
    return listed([f"{TITLES[database]} at {level}" for database, level in found], len(found))


def models(cells: Iterable[TransferSummary]) -> str:
    """List the models of `cells`."""
    return listed(list(dict.fromkeys(cell.model for cell in cells)))


def told_apart(some: Sequence[TransferSummary], others: Sequence[TransferSummary]) -> str:
    """Say what sets `some` cells of a strategy apart from its `others`: their models or their places, if that is enough."""
    if not others:
        return ""
    if not {cell.model for cell in some} & {cell.model for cell in others}:
        return f" under {models(some)}"
    if {(cell.database, cell.isolation) for cell in some} & {(cell.database, cell.isolation) for cell in others}:
        return f" on {places(some)} under {models(some)}"
    return f" on {places(some)}"
