"""What is said of transfers whose accounts are given."""

from __future__ import annotations

from typing import Any

import pytest
from analysis_builders import NOISY, QUIET, header, plan

from iobound.analysis.sampled import Judged
from iobound.analysis.scripts import transfer
from iobound.analysis.transfers import unserial
from iobound.records import Failure, Observation, Rounds, TransferCell, TransferSample, TransferSummary

FINE, LOST = [40, 0, 0], [39, 0, 0]


def cell(
    strategy: str, model: str = "threads", database: str = "postgresql", level: str = "read committed", **other: Any
) -> TransferCell:
    values = {"workers": 8, "seconds": 0.5, "accounts": 2, **other}
    id_ = f"{database}/{level}/{model}/{strategy}"
    return TransferCell(id=id_, service=database, isolation=level, model=model, strategy=strategy, driver="some", **values)


def sample(of: TransferCell, launch: int = 0, balances: list[int] = FINE, quiet: bool = True, **other: Any) -> TransferSample:
    counts = dict.fromkeys(("refused", "retries", "given_up", "unfinished"), 0)
    values = {
        "timed": 500,
        "acknowledged": 540,
        "contended": 100,
        "aborts": {},
        "errors": {},
        "control": False,
        **counts,
        **other,
    }
    noise = QUIET if quiet else NOISY
    return TransferSample(
        cell=of.id, launch=launch, started=0.0, noise=noise, ran={}, seconds=0.5, balances=balances, expected=FINE, **values
    )


def judged(*observations: tuple[TransferCell, TransferSample]) -> Judged:
    cells = list({cell.id: cell for cell, _ in observations}.values())
    rounds = Rounds(experiment="transfer", baseline=cells[0].id, cells=[*cells], rounds=3, budget_s=1.0)
    seen: list[Observation] = [sample for _, sample in observations]
    return transfer.judge(header(plan([], [])), rounds, seen)


def row(judgement: Judged, number: int = 0) -> TransferSummary:
    summary = judgement.summaries[number]
    assert isinstance(summary, TransferSummary)
    return summary


def one(**values: Any) -> TransferSummary:
    of = cell("autocommit")
    return row(judged((of, sample(of, **values))))


def result(judgement: Judged, claim: str) -> tuple[str | None, str]:
    [found] = [each for each in judgement.claims if each.claim == claim]
    return found.result, found.because


def status(judgement: Judged, rule: str) -> str:
    [found] = [each for each in judgement.findings if each.rule == rule]
    return found.status


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ({}, "correct"),
        ({"balances": LOST}, "wrong"),
        ({"balances": [39, 1, 0]}, "wrong"),
        ({"balances": [39, 0, 0], "errors": {"E: no": 1}, "given_up": 1}, "wrong"),
        ({"errors": {"E: no": 1}}, "errors"),
        ({"unfinished": 1}, "errors"),
        ({"given_up": 1}, "stuck"),
        ({"contended": 0}, "no-contention"),
    ],
)
def test_the_verdict_of_a_cell(values: dict[str, Any], verdict: str):
    summary = one(**values)
    assert summary.verdict == verdict
    assert summary.valid == (verdict == "correct")
    assert (summary.invalid_because is None) == summary.valid


def test_an_overdraft_is_wrong_though_the_accounts_add_up():
    of = cell("autocommit")
    overdrawn = [41, -1, 0]
    seen = sample(of, balances=overdrawn)
    summary = row(
        judged(
            (of, TransferSample(**{**{name: getattr(seen, name) for name in seen.__struct_fields__}, "expected": overdrawn}))
        )
    )
    assert (summary.verdict, summary.lost_updates, summary.overdrafts, summary.money_created) == ("wrong", 0, 1, 0)


def test_counts_are_sums_over_launches_disturbed_ones_too_and_throughput_is_of_undisturbed_ones():
    of = cell("autocommit")
    aborts = {"deadlock": 2, "serialization-failure": 3, "lock-timeout": 4, "busy": 5, "version-changed": 6}
    seen = [
        (of, sample(of, launch=0, timed=100, aborts=aborts, retries=7)),
        (of, sample(of, launch=1, timed=300, aborts=aborts)),
        (of, sample(of, launch=2, timed=9000, quiet=False, balances=[38, 1, -1])),
    ]
    summary = row(judged(*seen))
    assert summary.transactions_per_second and summary.transactions_per_second.estimate == 400
    assert (summary.launches, summary.noisy) == (2, 1)
    assert (summary.lost_updates, summary.overdrafts, summary.money_created) == (4, 1, -2)
    kinds = (summary.deadlocks, summary.serialization_failures, summary.lock_timeouts, summary.busy, summary.version_conflicts)
    assert kinds == (4, 6, 8, 10, 12)
    assert (summary.transfers, summary.retries) == (1620, 7)


def test_only_the_right_are_held_against_the_reference():
    reference, fast, slow = cell("for-update-ordered"), cell("autocommit"), cell("version-counter")
    judgement = judged(
        *((reference, sample(reference, launch, timed=100)) for launch in range(3)),
        *((fast, sample(fast, launch, timed=900, balances=LOST)) for launch in range(3)),
        *((slow, sample(slow, launch, timed=50)) for launch in range(3)),
    )
    ratios = [row(judgement, number).relative for number in range(3)]
    assert ratios[0] and ratios[0].estimate == 1
    assert ratios[1] is None
    assert ratios[2] and (ratios[2].low, ratios[2].high) == pytest.approx((0.5, 0.5))
    assert row(judgement, 2).relative_to == reference.id


def test_a_reference_that_is_wrong_is_none():
    reference, other = cell("for-update-ordered"), cell("version-counter")
    judgement = judged((reference, sample(reference, balances=LOST)), (other, sample(other)))
    assert row(judgement, 1).relative is None
    assert result(judgement, "for-update")[0] == "fails"


def test_the_model_matters_not_where_all_came_out_alike():
    of = [cell(strategy, model) for strategy in ("autocommit", "atomic-update") for model in ("threads", "asyncio")]
    judgement = judged(*((each, sample(each, balances=LOST if each.strategy == "autocommit" else FINE)) for each in of))
    told, because = result(judgement, "model-matters-not")
    assert told == "holds"
    assert "1 wrong, 1 without a fault seen" in because


def test_the_model_matters_where_one_came_out_otherwise():
    threads, tasks = cell("atomic-update"), cell("atomic-update", "asyncio")
    judgement = judged((threads, sample(threads)), (tasks, sample(tasks, balances=LOST)))
    told, because = result(judgement, "model-matters-not")
    assert (told, because) == (
        "fails",
        "atomic-update on PostgreSQL at read committed was wrong under asyncio, not under threads",
    )
    assert "The model made a difference" in judgement.verdict


def test_a_lock_in_the_process_and_shared_connections_say_nothing_of_that():
    of = [cell(strategy, model) for strategy in ("in-process-lock", "shared-connection") for model in ("threads", "processes")]
    judgement = judged(*((each, sample(each, balances=LOST if each.model == "processes" else FINE)) for each in of))
    assert result(judgement, "model-matters-not")[0] == "not-measured"
    assert status(judgement, "lock-in-the-process") == "present"


def test_transfers_that_never_met_say_nothing():
    of = cell("version-counter")
    judgement = judged((of, sample(of, contended=0)))
    assert result(judgement, "version-counter")[0] == "not-measured"


def test_not_in_the_process():
    lock, rows = cell("in-process-lock", "processes"), cell("for-update-ordered", "processes")
    assert result(judged((lock, sample(lock, balances=LOST)), (rows, sample(rows))), "not-in-the-process")[0] == "holds"
    assert result(judged((lock, sample(lock)), (rows, sample(rows))), "not-in-the-process")[0] == "fails"
    assert result(judged((lock, sample(lock))), "not-in-the-process")[0] == "not-measured"


def test_wrong_otherwise_is_too_strong():
    wrong, right = cell("autocommit"), cell("atomic-update")
    told, because = result(judged((wrong, sample(wrong, balances=LOST)), (right, sample(right))), "wrong-otherwise")
    assert (told, because) == ("holds-only-when", "no fault was seen with atomic-update either")


@pytest.mark.parametrize(
    ("of", "values", "rule"),
    [
        (cell("transaction"), {"balances": LOST}, "transaction-alone"),
        (cell("advisory-session"), {"balances": LOST}, "advisory-lock-released-early"),
        (cell("for-update-unordered"), {"aborts": {"deadlock": 3}}, "opposite-transfers-deadlock"),
        (cell("version-counter-same-transaction", database="mariadb"), {"given_up": 3}, "retry-in-the-same-snapshot"),
        (cell("shared-connection"), {"errors": {"InterfaceError: busy": 9}}, "shared-connection"),
    ],
)
def test_what_was_to_be_expected_is_told_when_seen_and_when_not(of: TransferCell, values: dict[str, Any], rule: str):
    assert status(judged((of, sample(of, **values))), rule) == "present"
    assert status(judged((of, sample(of))), rule) == "absent"
    other = cell("atomic-update")
    assert status(judged((other, sample(other))), rule) == "not-measured"


def test_snapshot_isolation_of_innodb():
    off = cell("transaction", database="mariadb", level="repeatable read")
    on = cell("transaction", database="mariadb", level="snapshot isolation")
    judgement = judged((off, sample(off, balances=LOST)), (on, sample(on, aborts={"serialization-failure": 12})))
    assert status(judgement, "innodb-snapshot-isolation") == "present"


def test_a_strategy_is_named_with_what_sets_its_wrong_cells_apart():
    one_, several = cell("in-process-lock"), cell("in-process-lock", "processes")
    judgement = judged((one_, sample(one_)), (several, sample(several, balances=LOST)))
    assert judgement.verdict.startswith("Accounts didn't add up in 1 of 2 cells: in-process-lock under processes.")


def test_the_control_is_told():
    of = cell("for-update-ordered")
    seen = [(of, sample(of, launch, control=control, timed=500 + launch)) for launch in range(3) for control in (False, True)]
    assert status(judged(*seen), "transfer-control") == "absent"


def test_a_run_without_a_launch_says_so():
    of = cell("autocommit")
    rounds = Rounds(experiment="transfer", baseline=of.id, cells=[of], rounds=1, budget_s=1.0)
    failure = Failure(cell=of.id, comparison="transfer", launch=0, stage="measure", reason="no")
    judgement = transfer.judge(header(plan([], [])), rounds, [failure])
    assert (judgement.verdict, list(judgement.summaries)) == ("No transfer was measured.", [])


# --- every schedule -------------------------------------------------------------------------------------------------

TABLE = {"AABB": "paid, refused", "BBAA": "refused, paid", "ABAB": "paid, paid", "ABBA": "refused, paid"}


def explored(**tables: dict[str, str]) -> Judged:
    of = [(cell("autocommit", model), table) for model, table in tables.items()]
    return judged(*((each, sample(each, balances=LOST, schedules=table)) for each, table in of))


def test_a_schedule_is_wrong_where_no_serial_one_ends_like_it():
    assert unserial(TABLE) == ["ABAB"]


def test_every_schedule_alike():
    judgement = explored(threads=TABLE, asyncio=dict(reversed(TABLE.items())))
    [finding] = [each for each in judgement.findings if each.rule == "every-schedule-under-every-model"]
    assert finding.status == "present"
    assert "4 of autocommit on PostgreSQL at read committed (threads and asyncio), 1 of them wrong" in finding.statement
    assert result(judgement, "model-matters-not")[0] == "holds"


@pytest.mark.parametrize("other", [{**TABLE, "ABAB": "paid, refused"}, {"AABB": "paid, refused"}])
def test_a_table_that_differs_says_that_the_model_matters(other: dict[str, str]):
    judgement = explored(threads=TABLE, asyncio=other)
    assert status(judgement, "every-schedule-under-every-model") == "absent"
    assert result(judgement, "model-matters-not")[0] == "fails"


def test_one_model_alone_says_nothing_and_what_was_not_explored_is_told():
    assert status(explored(threads=TABLE), "every-schedule-under-every-model") == "not-measured"
    threads, tasks, greenlets = cell("autocommit"), cell("autocommit", "asyncio"), cell("autocommit", "gevent")
    judgement = judged(
        *((each, sample(each, schedules=TABLE)) for each in (threads, tasks)),
        (greenlets, sample(greenlets, unexplored="gevent isn't there")),
    )
    [finding] = [each for each in judgement.findings if each.rule == "every-schedule-under-every-model"]
    assert finding.statement.endswith("Not explored: gevent: gevent isn't there.")


@pytest.mark.parametrize(
    ("strategy", "model", "processes", "status_"),
    [
        ("for-update-ordered", "threads", 1, "present"),
        ("atomic-update", "processes", 8, "present"),
        ("in-process-lock", "gevent", 1, "present"),
        ("in-process-lock", "processes", 8, "not-measured"),
        ("autocommit", "threads", 1, "not-measured"),
    ],
)
def test_what_is_right_by_its_nature_and_came_out_wrong_is_a_finding(strategy: str, model: str, processes: int, status_: str):
    of = cell(strategy, model)
    judgement = judged((of, sample(of, balances=LOST)))
    assert row(judgement).processes == processes
    assert status(judgement, "transfer-broken-promise") == status_
    fine = judged((of, sample(of)))
    assert status(fine, "transfer-broken-promise") != "present"
