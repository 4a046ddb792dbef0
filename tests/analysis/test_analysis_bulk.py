"""What is made of bulk loads whose figures are given: what bound them, how they compare, and what was published of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import pytest
from analysis_builders import NOISY, QUIET, header, plan

from iobound.analysis import loads_published
from iobound.analysis.sampled import Judged
from iobound.analysis.scripts import bulk
from iobound.records import (
    BoundBy,
    BulkCell,
    BulkSample,
    BulkSummary,
    ClaimResult,
    Environment,
    Failure,
    Finding,
    Noise,
    Observation,
    Rounds,
    ServiceInfo,
)
from iobound.records.bulk import BulkPhase, Feeding, Phase, Statements, Transaction

ENVIRONMENT = Environment(
    host={}, cores=[0, 1], target_cores=[1], other_cores=[0], shared_cores=None,
    services=[ServiceInfo(name="postgresql", version="18", source="wheel", settings={}, ping_us=50.0)],
    packages={}, ceilings=[],
)  # fmt: skip
LINES, COLUMNS = 40, 222


@dataclass(frozen=True)
class Load:
    """A cell and what it takes: `rate` in rows a second of both phases, CPU as shares of a core over the time."""

    asked: str = "threads/psycopg2"
    rate: float = 10_000.0
    connections: int = 10
    client: float = 0.5
    database: float | None = 0.5
    idle: float = 0.0
    waits: Mapping[str, float] | None = field(default_factory=lambda: {"Client:ClientRead": 9.0, "running": 1.0})
    python: str | None = None
    ran: Mapping[str, str] = field(default_factory=lambda: {"python": "3.11.7"})
    rtt_ms: float = 0.0
    transaction: Transaction = "autocommit"
    statements: Statements = "single"
    feeder: Feeding = "preloaded"
    noise: Noise = QUIET
    processes: int = 1
    least: float = 0.9
    retried: int = 0
    window: float | None = None
    bad_lines: Sequence[str] = ()
    broken: str | None = None
    lines: int | None = None

    @property
    def id(self) -> str:
        own = (self.python, self.rtt_ms or None, self.transaction, self.statements, self.feeder)
        return "/".join(["bulk", self.asked, f"c{self.connections}", *(str(part) for part in own if part)])

    def cell(self) -> BulkCell:
        model, _, driver = self.asked.partition("/")
        return BulkCell(
            id=self.id, python=self.python, service="postgresql", rtt_ms=self.rtt_ms, model=model, driver=driver, part=driver,
            connections=self.connections, lines=self.lines or max(LINES, self.connections), data=None,
            transaction=self.transaction, statements=self.statements, feeder=self.feeder, bad_lines="report",
        )  # fmt: skip

    def sample(self, launch: int, control: bool = False, drift: float = 0.01) -> BulkSample:
        return BulkSample(
            cell=self.id, launch=launch, control=control, started=0.0, noise=self.noise, ran=dict(self.ran),
            phases=[self.phase("geo", LINES, launch, drift), self.phase("data", LINES * COLUMNS, launch, drift)],
            processes=self.processes, target_cores=1, feeder_cpu_s=0.01, bad_lines=[*self.bad_lines],
        )  # fmt: skip

    def phase(self, phase: Phase, rows: int, launch: int, drift: float) -> BulkPhase:
        wall_s = rows / self.rate * (1 + drift * launch)
        return BulkPhase(
            phase=phase, rows=rows, wall_s=wall_s, user_s=wall_s * self.client * 0.75, system_s=wall_s * self.client * 0.25,
            database_s=None if self.database is None else wall_s * self.database,
            rows_least=int(rows / self.connections * self.least), rows_most=rows // self.connections,
            empty_s=self.idle * wall_s * self.connections, retried=self.retried if phase == "data" else 0,
            waits=None if self.waits is None else dict(self.waits), window_rows_per_second=self.window,
        )  # fmt: skip


def judged(*loads: Load, launches: int = 3, control: float = 1.0) -> Judged:
    """Judge launches of loads, each a little slower than the one before; the baseline again at `control` times its rate."""
    seen: list[Observation] = [load.sample(launch) for load in loads for launch in range(launches)]
    first = loads[0]
    for launch in range(launches):
        sample = first.sample(launch, control=True)
        phases = [msgspec.structs.replace(each, wall_s=each.wall_s / control) for each in sample.phases]
        seen.append(msgspec.structs.replace(sample, phases=phases))
    seen += [
        Failure(cell=load.id, comparison="bulk", launch=1, stage="verify", reason=load.broken) for load in loads if load.broken
    ]
    rounds = Rounds(experiment="bulk", baseline=first.id, cells=[load.cell() for load in loads], rounds=launches, budget_s=9.0)
    return bulk.judge(header(plan([], []), ENVIRONMENT), rounds, seen)


def row(judgement: Judged, load: Load, phase: Phase = "data") -> BulkSummary:
    [found] = [each for each in judgement.summaries if isinstance(each, BulkSummary) and each.id == f"{load.id}/{phase}"]
    return found


def finding(judgement: Judged, rule: str) -> Finding:
    [found] = [each for each in judgement.findings if each.rule == rule]
    return found


# --- figures --------------------------------------------------------------------------------------------------------


def test_a_rate_is_all_rows_over_the_whole_phase_and_cpu_is_a_row_s():
    load = Load(rate=10_000, client=0.5, database=0.25)
    found = row(judged(load, launches=1), load)
    assert found.rows == LINES * COLUMNS
    assert found.rows_per_second and found.rows_per_second.estimate == pytest.approx(10_000)
    assert found.client_cpu_us_per_row and found.client_cpu_us_per_row.estimate == pytest.approx(50)
    assert found.client_user_us_per_row and found.client_user_us_per_row.estimate == pytest.approx(37.5)
    assert found.client_system_us_per_row and found.client_system_us_per_row.estimate == pytest.approx(12.5)
    assert found.database_cpu_us_per_row and found.database_cpu_us_per_row.estimate == pytest.approx(25)
    assert found.fairness == pytest.approx(0.9, abs=0.01)
    assert (found.verified, found.valid, found.model, found.driver) == (True, True, "threads", "psycopg2")
    assert row(judged(load), load, "geo").rows == LINES


def test_a_load_that_lost_rows_has_no_rate_to_be_ranked_by():
    right, wrong = Load(), Load("asyncio/asyncpg", broken="data_element holds 8 rows; 9 were to be loaded")
    judgement = judged(right, wrong)
    found = row(judgement, wrong)
    assert (found.verified, found.valid, found.relative) == (False, False, None)
    assert found.invalid_because and "holds 8 rows" in found.invalid_because
    assert "asyncpg" not in judgement.verdict


# --- what bound it --------------------------------------------------------------------------------------------------

BOUND: dict[BoundBy, tuple[Load, str]] = {
    "target-cpu": (Load(client=0.97), "the target used 97% of a core"),
    "database-cpu": (Load(client=0.5, database=0.96), "the service used 96% of a core"),
    "database-locks": (
        Load(waits={"Lock:transactionid": 7.0, "running": 1.0}),
        "7.0 of 10.0 sessions waited for locks",
    ),
    "network": (Load(rate=3_000, rtt_ms=3.0, client=0.1, database=0.1), "statements x 3.05 ms to the service and back"),
    "concurrency": (Load(rate=1_000, client=0.2, database=0.2), "nothing was saturated"),
    "generator": (Load(idle=0.4), "the workers found the queue empty for 40% of their time"),
    "noise": (Load(noise=NOISY), "no launch was quiet"),
    "unknown": (Load(database=None, client=0.2, rate=1_000), "the service's CPU"),
}


@pytest.mark.parametrize("bound", BOUND)
def test_what_bound_a_load_is_decided_by_what_was_seen(bound: BoundBy):
    load, because = BOUND[bound]
    found = row(judged(load), load)
    assert found.bound_by == bound
    assert found.bound_because and because in found.bound_because


def test_an_empty_queue_bounds_nothing_while_the_workers_have_no_time():
    load = Load(idle=0.4, client=0.98)
    assert row(judged(load), load).bound_by == "target-cpu"


def test_processes_have_a_core_each_and_threads_share_one():
    threads, processes = Load(client=0.95, database=0.3), Load("processes/psycopg2", client=0.95, processes=10, database=0.3)
    free = Load(client=0.95, ran={"python": "3.13.1", "gil": "off"})
    assert row(judged(threads), threads).bound_by == "target-cpu"
    assert row(judged(processes), processes).bound_by == "target-cpu"
    assert row(judged(free), free).bound_by == "target-cpu"


def test_sessions_that_wait_for_a_flush_are_told_where_nothing_is_saturated():
    load = Load(
        rate=1_000, client=0.1, database=0.1, waits={"IO:WalSync": 1.0, "LWLock:WALWrite": 6.0, "Client:ClientRead": 3.0}
    )
    found = row(judged(load), load)
    assert found.bound_by == "concurrency"
    assert found.bound_because and "7.0 of 10 sessions waited for a commit to be flushed" in found.bound_because


# --- compared -------------------------------------------------------------------------------------------------------


def test_each_is_held_against_what_differs_in_its_model_only():
    first, second = Load(rate=10_000), Load("asyncio/asyncpg", rate=5_000)
    many, more = Load(rate=20_000, connections=100), Load("asyncio/asyncpg", rate=30_000, connections=100)
    judgement = judged(first, second, many, more)
    assert row(judgement, first).relative is None
    for load, reference, ratio in ((second, first, 0.5), (more, many, 1.5)):
        found = row(judgement, load)
        assert found.relative and found.relative.estimate == pytest.approx(ratio)
        assert found.relative_to == f"{reference.id}/data"
    assert "Over 10 connections, threads/psycopg2 loaded 9,9" in judgement.verdict
    assert "against it asyncio/asyncpg 0.50x" in judgement.verdict
    assert "asyncio/asyncpg 1.50x" in judgement.verdict


def test_another_way_of_the_same_model_is_held_against_its_usual_one():
    plain, copied = Load(), Load(statements="copy", rate=100_000)
    found = row(judged(plain, copied), copied)
    assert found.relative_to == f"{plain.id}/data"
    assert found.relative and found.relative.estimate == pytest.approx(10)
    assert row(judged(plain, copied), copied, "geo").statements == "single"


def test_what_cannot_be_told_apart_is_a_tie():
    judgement = judged(Load(rate=10_000), Load("gevent/psycopg2", rate=10_100), control=1.05)
    assert "a tie with gevent/psycopg2" in judgement.verdict


@pytest.mark.parametrize("spoilt", [Load("asyncio/asyncpg", idle=0.5), Load("asyncio/asyncpg", noise=NOISY)])
def test_what_the_feeder_or_noise_limits_is_never_ranked(spoilt: Load):
    judgement = judged(Load(), spoilt)
    assert row(judgement, spoilt).relative is None
    assert f"Not ranked, since {row(judgement, spoilt).bound_because}: asyncio/asyncpg" in judgement.verdict


def test_nothing_measured_is_said_as_such():
    rounds = Rounds(experiment="bulk", baseline=Load().id, cells=[Load().cell()], rounds=1, budget_s=1.0)
    judgement = bulk.judge(header(plan([], []), ENVIRONMENT), rounds, [])
    assert (judgement.verdict, judgement.summaries) == ("No bulk load was measured.", [])
    assert {each.result for each in judgement.claims} == {"not-measured"}


# --- findings -------------------------------------------------------------------------------------------------------


def test_findings_are_absent_where_all_is_well():
    found = judged(Load(), Load("gevent/psycopg2"))
    assert {each.rule: each.status for each in found.findings} == {
        "bulk-control": "absent",
        "bulk-feeder-limits": "absent",
        "bulk-published-feeder": "not-measured",
        "bulk-unfair": "absent",
        "bulk-retried": "absent",
        "bulk-bad-lines": "absent",
    }


@pytest.mark.parametrize(
    ("rule", "load", "says"),
    [
        ("bulk-feeder-limits", Load(idle=0.3), "waited for lines in 2 cells"),
        ("bulk-unfair", Load(least=0.2), "less than half"),
        ("bulk-retried", Load(retried=2), "loaded again"),
        ("bulk-bad-lines", Load(bad_lines=["line 7: x"]), "line 7: x"),
    ],
)
def test_findings_name_what_they_saw(rule: str, load: Load, says: str):
    found = finding(judged(load), rule)
    assert found.status == "present"
    assert says in found.statement


def test_the_cost_of_the_published_feeder_is_told_and_that_its_rate_is_another():
    judgement = judged(Load(rate=10_000), Load(feeder="published", rate=5_000, window=7_000))
    found = finding(judgement, "bulk-published-feeder")
    assert "0.50x" in found.statement
    assert "its own window says 7,000 rows/s where 4,951 were loaded" in found.statement


def test_a_wide_control_is_a_finding():
    assert finding(judged(Load(), control=1.6), "bulk-control").status == "present"
    assert finding(judged(Load(), launches=1), "bulk-control").status == "not-measured"


# --- claims ---------------------------------------------------------------------------------------------------------


def claims(judgement: Judged) -> dict[str, ClaimResult]:
    return {claim.claim: claim for claim in judgement.claims}


def test_every_published_row_has_its_counterpart_as_a_ratio():
    found = judged(Load()).claims
    assert len(found) == len({claim.claim for claim in found}) == 18
    programs = {program for setting in loads_published.SETTINGS for program in setting.rates}
    assert all(set(setting.rates) == programs for setting in loads_published.SETTINGS)
    assert claims(judged(Load()))["bulk-15-data-asyncio-3.4"].published == pytest.approx(6 / 19)
    assert claims(judged(Load()))["bulk-120-geo-gevent-2.7"].published == pytest.approx(18 / 22)


@pytest.mark.parametrize(("rate", "result"), [(3_200.0, "holds"), (9_000.0, "fails")])
def test_a_published_ratio_holds_where_it_is_about_the_same_here(rate: float, result: str):
    found = claims(judged(Load(connections=15), Load("asyncio/aiopg", connections=15, rate=rate)))["bulk-15-data-asyncio-3.4"]
    assert found.result == result
    assert found.here and found.here.estimate == pytest.approx(rate / 10_000)
    assert "Python 3.11.7 here, 3.4 there" in found.because


def test_a_number_of_connections_near_the_published_one_stands_for_it_and_is_named():
    found = claims(judged(Load(), Load("asyncio/aiopg", rate=3_000)))
    assert found["bulk-15-data-asyncio-3.4"].result == "holds"
    assert "10 connections here" in found["bulk-15-data-asyncio-3.4"].because
    assert found["bulk-350-data-asyncio-3.4"].result == "not-measured"
    assert "--connections 350" in found["bulk-350-data-asyncio-3.4"].because


def test_one_launch_decides_nothing():
    loads = [Load(connections=15), Load("asyncio/aiopg", connections=15, rate=3_200.0)]
    found = claims(judged(*loads, launches=1))["bulk-15-data-asyncio-3.4"]
    assert (found.result, found.here and found.here.low) == ("not-measured", None)
    assert "one launch" in found.because


def test_programs_that_differ_in_more_than_the_published_ones_are_not_compared():
    old = Load("gevent/psycopg2", python="2.7", ran={"python": "2.7.18"}, connections=15)
    pairs = [(old, Load(connections=15)), (Load(connections=15), Load("asyncio/aiopg", connections=10))]
    names = ["bulk-15-data-gevent-2.7", "bulk-15-data-asyncio-3.4"]
    found = [claims(judged(*loads))[name] for loads, name in zip(pairs, names, strict=True)]
    assert [(claim.result, claim.here) for claim in found] == [("not-measured", None)] * 2


def test_over_a_network_is_over_a_relay():
    loads = [Load(connections=120, rtt_ms=0.3), Load("asyncio/aiopg", connections=120, rtt_ms=0.3, rate=4_000)]
    found = claims(judged(*loads))
    assert found["bulk-120-data-asyncio-3.4"].here is not None
    assert "--rtt 0.3ms" in claims(judged(Load(connections=120)))["bulk-120-data-asyncio-3.4"].because


def test_python_2_and_3_are_compared_where_both_were_measured():
    two = Load(python="2.7", ran={"python": "2.7.18"}, connections=15, rate=10_000)
    three = Load(python="3.8", ran={"python": "3.8.18"}, connections=15, rate=8_000)
    found = claims(judged(two, three))["bulk-15-geo-threads-3.4"]
    assert found.result == "holds"
    assert "Python 3.8.18 and 2.7.18 here, 3.4 and 2.7 there" in found.because
    assert claims(judged(three))["bulk-15-geo-threads-3.4"].result == "not-measured"


def test_the_oldest_python_3_stands_for_the_published_one():
    loads = [
        Load(asked, python=python, ran={"python": f"{python}.1"}, connections=15, rate=rate)
        for python, rate in (("3.11", 10_000.0), ("3.8", 10_000.0))
        for asked in ("threads/psycopg2", "asyncio/aiopg")
    ]
    assert "Python 3.8.1 here" in claims(judged(*loads))["bulk-15-data-asyncio-3.4"].because


def test_what_is_not_ranked_holds_nothing():
    found = claims(judged(Load(connections=15), Load("asyncio/aiopg", connections=15, noise=NOISY)))["bulk-15-data-asyncio-3.4"]
    assert found.result == "not-measured"
    assert "not ranked: asyncio/aiopg: noise" in found.because


def test_fewer_lines_than_connections_are_no_load_of_so_many_connections():
    judgement = judged(few := Load(connections=120, lines=40), Load("asyncio/aiopg", connections=120, lines=40))
    found = row(judgement, few)
    assert found.bound_by == "generator"
    assert "40 lines keep no more than 40 of 120 connections busy" in (found.bound_because or "")
    assert found.relative is None
    assert "Not ranked" in judgement.verdict


def test_the_verdict_says_that_one_launch_decides_nothing():
    verdict = judged(Load(), Load("asyncio/aiopg", rate=3_000), launches=1).verdict
    assert "in one launch each, which decides nothing, asyncio/aiopg 0.3x" in verdict
    assert "against it" not in verdict
