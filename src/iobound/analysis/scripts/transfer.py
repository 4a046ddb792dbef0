"""Which strategies keep the accounts right, whether the model matters to that, and what was said of it."""

from __future__ import annotations

from collections.abc import Sequence

from iobound.analysis import statistics
from iobound.analysis.sampled import Judged, Sampled, by_launch
from iobound.analysis.transfers import Transfers, models, per_second, places, summarise, told_apart, unserial
from iobound.analysis.words import cells, listed
from iobound.records import (
    ClaimResult,
    Evidence,
    Finding,
    Holds,
    Observation,
    Rounds,
    RunHeader,
    TransferCell,
    TransferSample,
    TransferSummary,
)

SOURCE = "the published essay on asynchronous Python and databases"
SHARED = "shared-connection"
LOCKING = ("for-update-ordered", "for-update-unordered")
VERSIONED = ("version-counter", "version-counter-same-transaction")
RIGHT = {  # by their nature, wherever they are possible
    *LOCKING, "version-counter", "atomic-update", "serializable-retry", "advisory-xact", "begin-immediate",
}  # fmt: skip
OF_THE_PROCESS = {"in-process-lock", SHARED}  # strategies that aren't the database's: the model matters to them
COARSE = 0.25  # of the throughput: a control as far apart says that differences below can't be told

Cells = Sequence[TransferSummary]


def judge(header: RunHeader, rounds: Rounds, observations: Sequence[Observation]) -> Judged:
    """Say of every cell whether its accounts add up, and what follows from that."""
    sampled = Sampled.of(header, rounds, observations, TransferCell, TransferSample)
    found = summarise(sampled, observations)
    return Judged(
        verdict=_verdict(found),
        summaries=found,
        findings=[
            _broken_promise(found),
            _lock_in_the_process(found),
            _transaction_alone(found),
            _snapshot_isolation(found),
            _released_early(found),
            _opposite_transfers(found),
            _same_snapshot(found),
            _shared_connection(found),
            _every_schedule(found),
            _control(sampled),
        ],
        claims=[
            _model_matters_not(found),
            _not_in_the_process(found),
            _right("for-update", "transfer() is right with a transaction and SELECT … FOR UPDATE", _of(found, *LOCKING)),
            _right(
                "version-counter",
                "transfer() is right with a version counter that fails it when it raced",
                _of(found, "version-counter"),
            ),
            _wrong_otherwise(found),
        ],
    )


def _of(found: Cells, *strategies: str) -> list[TransferSummary]:
    return [cell for cell in found if cell.strategy in strategies]


def _wrong(of: Cells) -> list[TransferSummary]:
    return [cell for cell in of if cell.verdict == "wrong"]


def _right_ones(of: Cells) -> list[TransferSummary]:
    return [cell for cell in of if cell.verdict == "correct"]


# --- the verdict ----------------------------------------------------------------------------------------------------


def _verdict(found: Cells) -> str:
    of = [cell for cell in found if cell.strategy != SHARED]
    if not of:
        return "No transfer was measured."
    wrong, right = _wrong(of), _right_ones(of)
    lines = [f"Nothing wrong was seen in {cells(len(of))}."]
    if wrong:
        lines = [f"Accounts didn't add up in {len(wrong)} of {cells(len(of))}: {_strategies(wrong, of)}."]
    if wrong and right:
        lines.append(
            f"Nothing wrong was seen with {_strategies(right, of)}. That shows that a race is rare, not that there is none; "
            "`iobound race` tries every schedule."
        )
    alike, apart = _across_models(of)
    if apart:
        lines.append(f"The model made a difference: {_differences(apart)}.")
    elif alike:
        lines.append(
            "What is right is a matter of transactions, not of the model: each strategy of the database came out alike under "
            f"{models(cell for group in alike for cell in group)}."
        )
    explored = [group for group in _explored(of) if not _tables_differ(group)]
    if explored and not apart:
        counts = [f"{len(group[0].schedules or {})} of {group[0].strategy} on {places(group)}" for group in explored]
        lines[-1] += f" So did every schedule of two transfers: {listed(counts, len(counts))}."
    return "\n".join(lines)


def _strategies(some: Cells, found: Cells) -> str:
    """Name the strategies of `some` cells, with what sets these apart where others of `found` came out otherwise."""
    named = []
    for strategy in dict.fromkeys(cell.strategy for cell in some):
        mine = _of(some, strategy)
        named.append(strategy + told_apart(mine, [cell for cell in _of(found, strategy) if cell not in mine]))
    return "; ".join(named) if any(" and " in name for name in named) else listed(named, len(named))


# --- what was said --------------------------------------------------------------------------------------------------


def _across_models(found: Cells) -> tuple[list[Cells], list[Cells]]:
    """Return the cells that differ in nothing but the model, in groups: those that came out alike, and those that didn't.

    Cells that say nothing (errors, transfers that never met) are left out.
    """
    groups: dict[tuple[object, ...], list[TransferSummary]] = {}
    for cell in found:
        if cell.strategy not in OF_THE_PROCESS and cell.verdict in {"correct", "wrong"}:
            key = (cell.database, cell.isolation, cell.strategy, cell.workers, cell.rtt_ms)
            groups.setdefault(key, []).append(cell)
    several = [group for group in groups.values() if len(group) > 1]
    alike = [group for group in several if len({cell.verdict for cell in group}) == 1]
    return [*alike], [group for group in several if group not in alike]


def _differences(apart: Sequence[Cells]) -> str:
    told = []
    for group in apart:
        wrong, right = _wrong(group), _right_ones(group)
        told.append(f"{group[0].strategy} on {places(wrong)} was wrong under {models(wrong)}, not under {models(right)}")
    return "; ".join(told)


def _model_matters_not(found: Cells) -> ClaimResult:
    alike, apart = _across_models(found)
    differing = [group for group in _explored(found) if _tables_differ(group)]
    result: Holds = "not-measured" if not alike and not apart else "fails" if apart or differing else "holds"
    because = "no strategy was measured under several models"
    if apart:
        because = _differences(apart)
    elif differing:
        because = f"some schedules came out otherwise: {'; '.join(map(_schedules, differing))}"
    elif alike:
        wrong = sum(group[0].verdict == "wrong" for group in alike)
        because = (
            f"{len(alike)} combinations of strategy and database came out alike under each of their models "
            f"({models(cell for group in alike for cell in group)}): {wrong} wrong, {len(alike) - wrong} without a fault seen"
        ) + (f"; and every schedule: {'; '.join(map(_schedules, _explored(found)))}" if _explored(found) else "")
    return _claim(
        "model-matters-not", "Whether threads, greenlets or coroutines run it, its correctness is the same", result, because
    )


def _not_in_the_process(found: Cells) -> ClaimResult:
    statement = "Database code handles concurrency by transactions, not by synchronisation in the process"
    several = [cell for cell in _of(found, "in-process-lock") if cell.processes > 1]
    by_rows = [cell for cell in _of(found, "for-update-ordered", "begin-immediate") if cell.processes > 1]
    if not several or not by_rows:
        return _claim("not-in-the-process", statement, "not-measured", "it takes both kinds of lock under several processes")
    failed, held = _wrong(several), not _wrong(by_rows)
    lock = f"the lock in the process failed in {len(failed)} of {cells(len(several))} with several processes"
    rows = f"those of the database in {len(_wrong(by_rows))} of {len(by_rows)}"
    return _claim("not-in-the-process", statement, "holds" if failed and held else "fails", f"{lock}, {rows}")


def _right(claim: str, statement: str, of: Cells) -> ClaimResult:
    """Hold that a strategy is right against its cells."""
    told = [cell for cell in of if cell.verdict in {"correct", "wrong"}]
    if not told:
        return _claim(claim, statement, "not-measured", "it wasn't measured, or no transfers met")
    wrong = _wrong(told)
    transfers = sum(cell.transfers for cell in told)
    because = f"no fault seen in {transfers:,} transfers in {cells(len(told))}"
    return _claim(claim, statement, "fails" if wrong else "holds", f"wrong on {places(wrong)}" if wrong else because)


def _wrong_otherwise(found: Cells) -> ClaimResult:
    named = {*LOCKING, *VERSIONED, SHARED}
    others = [cell for cell in found if cell.strategy not in named and cell.verdict in {"correct", "wrong"}]
    statement = "… and wrong otherwise"
    if not others:
        return _claim("wrong-otherwise", statement, "not-measured", "no other strategy was measured")
    right = _right_ones(others)
    if not right:
        return _claim("wrong-otherwise", statement, "holds", f"all of {cells(len(others))} are wrong")
    because = f"no fault was seen with {_strategies(right, found)} either"
    return _claim("wrong-otherwise", statement, "holds-only-when" if _wrong(others) else "fails", because)


def _claim(claim: str, statement: str, result: Holds, because: str) -> ClaimResult:
    return ClaimResult(
        claim=claim,
        source=SOURCE,
        statement=statement,
        unit="",
        published=None,
        here=None,
        bound_here=None,
        cell=None,
        result=result,
        because=because,
        experiment="transfer",
    )


# --- what was to be expected ----------------------------------------------------------------------------------------


def _lost(of: Cells) -> list[Evidence]:
    return [Evidence(what="lost updates", observed=cell.lost_updates, threshold=0, unit="units", cell=cell.id) for cell in of]


def _finding(rule: str, of: Cells, present: bool, statement: str, evidence: list[Evidence], advice: str) -> Finding:
    """Return a finding that is not measured where there are no cells of it."""
    if not of:
        return Finding(rule=rule, status="not-measured", statement="No cell of this run tells.")
    return Finding(
        rule=rule,
        status="present" if present else "absent",
        statement=statement,
        evidence=evidence,
        advice=advice if present else None,
    )


def _broken_promise(found: Cells) -> Finding:
    """Name what is right by its nature and came out wrong: in one process its lock is, too."""
    of = [each for each in found if each.strategy in RIGHT or (each.strategy == "in-process-lock" and each.processes == 1)]
    of = [*_right_ones(of), *_wrong(of)]
    wrong = _wrong(of)
    return _finding(
        "transfer-broken-promise",
        of,
        bool(wrong),
        f"What is right by its nature came out wrong: {_strategies(wrong, of)}."
        if wrong
        else "Whatever is right by its nature came out right.",
        _lost(wrong),
        "Look for a database that was set or changed otherwise than it says, or report it: iobound may be at fault.",
    )


def _lock_in_the_process(found: Cells) -> Finding:
    of = [cell for cell in _of(found, "in-process-lock") if cell.verdict in {"correct", "wrong"}]
    one, several = [cell for cell in of if cell.processes == 1], [cell for cell in of if cell.processes > 1]
    kept = f"no fault was seen with it in one process ({models(one)})" if one else "it wasn't measured in one process"
    if _wrong(one):
        kept = f"it failed even in one process, on {places(_wrong(one))}"
    broken = f"updates were lost in {len(_wrong(several))} of {cells(len(several))} with several processes"
    return _finding(
        "lock-in-the-process",
        several,
        bool(_wrong(several)),
        f"A lock inside the process: {broken}; {kept}.",
        _lost(of),
        "Let the database do the locking: a second process, a second machine or a cron job doesn't see the lock.",
    )


def _transaction_alone(found: Cells) -> Finding:
    of = [cell for cell in _of(found, "transaction") if cell.isolation in {"read committed", "repeatable read"}]
    wrong = _wrong(of)
    return _finding(
        "transaction-alone",
        of,
        bool(wrong),
        f"A transaction alone isn't enough below serializable: money went missing on {places(wrong)}."
        if wrong
        else f"A transaction without a lock showed no fault on {places(of)}.",
        _lost(of),
        "Lock what is read for writing (FOR UPDATE), check a version, compute in the UPDATE, or raise the level and retry.",
    )


def _snapshot_isolation(found: Cells) -> Finding:
    on, off = (
        [cell for cell in _of(found, "transaction") if (cell.database, cell.isolation) == ("mariadb", level)]
        for level in ("snapshot isolation", "repeatable read")
    )
    helped = bool(_wrong(off)) and not _wrong(on)
    both = [*on, *off] if on and off else []
    refused = sum(cell.serialization_failures for cell in on)
    return _finding(
        "innodb-snapshot-isolation",
        both,
        helped,
        f"On MariaDB at repeatable read, innodb_snapshot_isolation turned lost updates into {refused:,} errors 1020."
        if helped
        else "innodb_snapshot_isolation made no difference that was seen.",
        _lost(both),
        "Turn it on (it is from 11.6.2 on) and retry on 1020, whose SQLSTATE isn't 40001 but HY000.",
    )


def _released_early(found: Cells) -> Finding:
    of = _of(found, "advisory-session")
    wrong = _wrong(of)
    return _finding(
        "advisory-lock-released-early",
        of,
        bool(wrong),
        f"An advisory lock that is released before the commit lost updates on {places(wrong)}."
        if wrong
        else "An advisory lock released before the commit lost no update that was seen.",
        _lost(of),
        "Release it after the commit, or take one that ends with the transaction (pg_advisory_xact_lock).",
    )


def _opposite_transfers(found: Cells) -> Finding:
    unordered, ordered = _of(found, "for-update-unordered"), _of(found, "for-update-ordered")
    deadlocked = [cell for cell in unordered if cell.deadlocks]
    many, few = sum(cell.deadlocks for cell in unordered), sum(cell.deadlocks for cell in ordered)
    return _finding(
        "opposite-transfers-deadlock",
        unordered,
        bool(deadlocked),
        f"Opposite transfers deadlock where each locks its payer first: {many:,} times, {few:,} in the order of keys.",
        [
            Evidence(what="deadlocks", observed=cell.deadlocks, threshold=0, unit="", cell=cell.id)
            for cell in [*unordered, *ordered]
        ],
        "Lock rows in one order everywhere, and retry a deadlock all the same.",
    )


def _same_snapshot(found: Cells) -> Finding:
    of = _of(found, "version-counter-same-transaction")
    stuck = [cell for cell in of if cell.given_up]
    given_up = sum(cell.given_up for cell in of)
    return _finding(
        "retry-in-the-same-snapshot",
        of,
        bool(stuck),
        f"A retry within the same transaction reads the same old version for ever: {given_up:,} given up on {places(stuck)}."
        if stuck
        else f"A retry within the same transaction got through on {places(of)}.",
        [Evidence(what="transfers given up", observed=cell.given_up, threshold=0, unit="", cell=cell.id) for cell in of],
        "Roll back and begin anew before reading again: a snapshot doesn't age.",
    )


def _shared_connection(found: Cells) -> Finding:
    of = _of(found, SHARED)
    broken = [cell for cell in of if cell.verdict != "correct"]
    said = [f"{cell.driver} under {cell.model}: {_said(cell)}" for cell in of]
    return _finding(
        "shared-connection",
        of,
        bool(broken),
        f"The exception: one connection shared by all workers, where the model does matter. {'; '.join(said)}.",
        _lost(of),
        "Give each thread, greenlet or task a connection of its own, from a pool.",
    )


def _explored(found: Cells) -> list[Cells]:
    """Return the cells of which every schedule was carried out, in groups that differ in nothing but the model."""
    groups: dict[tuple[str, ...], list[TransferSummary]] = {}
    for cell in found:
        if cell.schedules:
            groups.setdefault((cell.database, cell.isolation, cell.strategy), []).append(cell)
    return [group for group in groups.values() if len(group) > 1]


def _tables_differ(group: Cells) -> bool:
    return any(cell.schedules != group[0].schedules for cell in group)


def _every_schedule(found: Cells) -> Finding:
    groups = _explored(found)
    missing = [f"{cell.model}: {cell.unexplored}" for cell in found if cell.unexplored]
    apart = [group for group in groups if _tables_differ(group)]
    told = [_schedules(group) for group in groups]
    statement = f"Every schedule of two transfers came out alike under each model: {'; '.join(told)}."
    if apart:
        statement = f"Schedules came out otherwise under another model: {'; '.join(_schedules(group) for group in apart)}."
    return _finding(
        "every-schedule-under-every-model",
        [cell for group in groups for cell in group],
        bool(groups) and not apart,
        statement + (f" Not explored: {'; '.join(missing)}." if missing else ""),
        [
            Evidence(
                what="schedules not like any serial one",
                observed=len(unserial(cell.schedules or {})),
                threshold=0,
                unit="",
                cell=cell.id,
            )
            for group in groups
            for cell in group
        ],
        "What the database admits is what can go wrong, whoever drives it: choose the model by other criteria.",
    )


def _schedules(group: Cells) -> str:
    """Count the schedules of a strategy, and those that are wrong: ``66 of autocommit on PostgreSQL (threads …), 60 wrong``."""
    first = group[0]
    schedules = first.schedules or {}
    wrong = len(unserial(schedules)) or "none"
    return f"{len(schedules)} of {first.strategy} on {places(group)} ({models(group)}), {wrong} of them wrong"


def _said(cell: TransferSummary) -> str:
    """Say how a shared connection fared."""
    if cell.verdict == "wrong":
        return f"{cell.lost_updates:,} updates lost" + ("" if cell.errors else ", without an error")
    if cell.errors:
        return max(cell.errors, key=lambda error: cell.errors[error])
    return "workers hung" if cell.unfinished else "no fault seen"


def _control(sampled: Transfers) -> Finding:
    """Hold the second launches of the baseline against its first ones: A against A."""
    first, second = (by_launch(of, per_second) for of in (sampled.samples[sampled.baseline], sampled.controls))
    pair = statistics.paired(second, first)
    smallest = statistics.detectable(pair) if pair else None
    if smallest is None:
        return Finding(
            rule="transfer-control", status="not-measured", statement="The baseline wasn't launched twice in two rounds."
        )
    return Finding(
        rule="transfer-control",
        status="present" if smallest > COARSE else "absent",
        statement=f"Two launches of the same transfers may differ by {smallest:.0%}: no smaller difference is one.",
        evidence=[Evidence(what="the baseline against itself", observed=smallest, threshold=COARSE, unit="of its throughput")],
        advice="Measure on a quieter machine, or longer with --budget." if smallest > COARSE else None,
    )
