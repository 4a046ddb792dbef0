"""What is said of drivers whose times are given."""

from __future__ import annotations

import pytest

from driver_samples import cell, judged, profiled, row, sample, use
from iobound.analysis import layers
from iobound.analysis.published_drivers import CALLS, LOCAL_S, MYSQLDB, NETWORK_S, PYMYSQL
from iobound.records import ClaimResult, DriverSummary, Failure, Finding, Interval
from iobound.records.drivers import Layer

PSYCOPG = cell("psycopg", title="psycopg 3 (C)")
CORE = cell("sqlalchemy-core-psycopg", title="SQLAlchemy Core on psycopg 3 (C)", rung="core", beneath="psycopg")
ORM = cell("sqlalchemy-orm-psycopg", title="SQLAlchemy ORM on psycopg 3 (C)", rung="orm", beneath="psycopg")


def test_a_statement_is_split_into_parts_that_add_up():
    found = row(judged((PSYCOPG, sample(PSYCOPG, select=use(1000.0, waiting=0.3, queued=0.1)))), "psycopg")
    parts = [found.user_us, found.system_us, found.runqueue_us, found.wait_us]
    assert [part.estimate for part in parts] == pytest.approx([450, 150, 100, 300])
    assert sum(part.estimate for part in parts) == pytest.approx(found.wall_us.estimate)
    assert found.io_bound_index.estimate == pytest.approx(0.3)
    assert (found.wait_source, found.round_trips, found.statements) == ("remainder", 1.0, 100)


def test_intervals_are_over_launches():
    samples = [(PSYCOPG, sample(PSYCOPG, launch, select=use(us))) for launch, us in enumerate((90.0, 100.0, 110.0))]
    wall = row(judged(*samples), "psycopg").wall_us
    assert wall.estimate == pytest.approx(100)
    assert wall.low == pytest.approx(100 - 4.303 * 10 / 3**0.5, rel=1e-3)  # Student's t of two degrees of freedom


def test_a_driver_is_compared_with_the_first_of_its_service_in_each_round():
    mysql, other = cell("mysqlclient", "mariadb"), cell("psycopg2")
    times = [(mysql, 500.0), (PSYCOPG, 100.0), (other, 300.0)]
    samples = [
        (of, sample(of, launch, select=use(us * (1 + launch)))) for launch in range(3) for of, us in times
    ]  # each round is slower, for all of them
    judgement = judged(*samples)
    compared = row(judgement, "psycopg2")
    assert compared.relative
    assert (compared.relative.estimate, compared.relative.low) == pytest.approx((3.0, 3.0))
    assert compared.baseline == "drivers/psycopg/select"
    assert row(judgement, "psycopg").relative is row(judgement, "mysqlclient").relative is None


def test_ratios_to_the_same_driver_are_corrected_for_how_many_they_are():
    others = [cell(name) for name in ("psycopg2", "asyncpg", "aiopg")]
    seen = [
        (of, sample(of, launch, select=use(us * (1 + launch * noise))))
        for launch in range(3)
        for of, us, noise in zip([PSYCOPG, *others], (100.0, 110.0, 120.0, 130.0), (0, 0.1, 0.1, 0.1), strict=True)
    ]
    alone = row(judged(*(pair for pair in seen if pair[0] in (PSYCOPG, others[0]))), "psycopg2").relative
    beside = row(judged(*seen), "psycopg2").relative
    assert alone and beside and alone.low and beside.low
    assert beside.estimate == alone.estimate
    assert beside.low < alone.low


def test_wrong_rows_in_one_launch_leave_a_driver_without_speed():
    other = cell("psycopg2")
    wrong = Failure(cell=PSYCOPG.id, comparison="drivers", launch=1, stage="verify", reason="select: 999 rows")
    seen = [(PSYCOPG, sample(PSYCOPG)), (other, sample(other))]
    found = judged(*seen, failures=[wrong])
    assert {summary.cell for summary in found.summaries} == {other.id}
    assert row(found, "psycopg2").relative is None


def test_on_further_interpreters_a_driver_is_compared_with_itself():
    old, new = ([cell(driver, python=python) for driver in ("psycopg", "psycopg2")] for python in ("3.8", "3.13"))
    seen = [(of, sample(of, select=use(us))) for of, us in zip([*old, *new], (400.0, 300.0, 200.0, 100.0), strict=True)]
    selects = [each for each in judged(*seen).summaries if isinstance(each, DriverSummary) and each.phase == "select"]
    found = {(each.python, each.driver): each for each in selects}
    assert found["3.8", "psycopg2"].baseline == f"{old[0].id}/select"
    assert found["3.13", "psycopg2"].baseline == f"{old[1].id}/select"
    assert found["3.13", "psycopg2"].relative == Interval(estimate=pytest.approx(1 / 3))


def test_a_database_in_the_process_has_no_time_beside_it():
    sqlite = cell("sqlite3", "sqlite")
    assert row(judged((sqlite, sample(sqlite, select=use(100.0, round_trips=None)))), "sqlite3").database_us is None


def test_statements_that_went_another_way_have_no_round_trips():
    valkey = cell("redis-py", "valkey")
    assert row(judged((valkey, sample(valkey, select=use(100.0, round_trips=0)))), "redis-py").round_trips is None


def test_the_ladder_tells_what_each_layer_adds():
    walls = [(PSYCOPG, 1000.0), (CORE, 2000.0), (ORM, 5000.0)]
    judgement = judged(*((of, sample(of, select=use(us), json_s=5e-3)) for of, us in walls))
    ladder = row(judgement, ORM.driver).ladder
    assert [rung.name for rung in ladder] == ["psycopg 3 (C)", "SQLAlchemy Core", "SQLAlchemy ORM", "JSON"]
    assert [rung.added_us for rung in ladder] == pytest.approx([1000, 1000, 3000, 5000])
    assert [rung.share for rung in ladder] == pytest.approx([0.1, 0.1, 0.3, 0.5])
    assert [rung.name for rung in row(judgement, "psycopg").ladder] == ["psycopg 3 (C)", "JSON"]


def test_a_ladder_leaves_out_what_others_took_of_the_core():
    walls = [(PSYCOPG, 2000.0, 0.5), (CORE, 2000.0, 0.0)]
    judgement = judged(*((of, sample(of, select=use(us, 0.2, queued=queued), json_s=2e-3)) for of, us, queued in walls))
    assert [rung.added_us for rung in row(judgement, CORE.driver).ladder] == pytest.approx([1000, 1000, 2000])


def test_a_ladder_without_its_driver_is_none():
    assert row(judged((ORM, sample(ORM))), ORM.driver).ladder == []


def test_an_orm_of_another_library_stands_on_the_driver_itself():
    django = cell("django-orm-psycopg", title="Django's ORM on psycopg 3 (C)", rung="orm", beneath="psycopg")
    judgement = judged(*((of, sample(of)) for of in (PSYCOPG, CORE, django)))
    assert [rung.name for rung in row(judgement, "django-orm-psycopg").ladder] == ["psycopg 3 (C)", "Django's ORM", "JSON"]


def test_the_bias_of_a_profile_is_of_time_with_the_core_to_itself():
    seen = sample(PSYCOPG, select=use(1000.0, waiting=0.3, queued=0.5), profiled={"select": profiled(1500.0, 42, 0.25)})
    found = row(judged((PSYCOPG, seen)), "psycopg")
    assert found.function_calls == 42
    assert found.profile
    assert found.profile.bias == pytest.approx(1500 / 500)
    assert found.profile.sockets_share == pytest.approx(0.25)
    assert row(judged((PSYCOPG, seen)), "psycopg", "point").profile is None


# --- layers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stack", "of_driver", "expected"),
    [
        ("program.py:select;driver.py:Connection.execute", "driver", "driver"),
        ("program.py:select;driver.py:Things.select", "orm", "orm"),
        (
            "program.py:select;driver.py:Connection.execute;pymysql/connections.py:query;python/socket.py:readinto",
            "driver",
            "driver",
        ),
        ("driver.py:Things.select;sqlalchemy/orm/session.py:scalars;psycopg/cursor.py:execute", "orm", "driver"),
        ("driver.py:Things.select;psycopg/cursor.py:execute;sqlalchemy/orm/loading.py:chunks", "orm", "orm"),
        ("python/asyncio/base_events.py:_run_once;python/selectors.py:select", "driver", "event loop"),
        ("python/asyncio/events.py:_run;python/asyncio/selector_events.py:_read_ready__data_received", "driver", "driver"),
        ("program.py:select;phases.py:touch", "driver", "application"),
        ("program.py:select;driver.py:Things.select;:GC:", "orm", "interpreter"),
        ("python/threading.py:_bootstrap", "driver", "interpreter"),
    ],
)
def test_a_sample_is_of_the_innermost_layer_that_is_known(stack: str, of_driver: Layer, expected: Layer):
    [share] = layers.shares({stack: 3}, of_driver, 10.0)
    assert (share.layer, share.samples, share.share, share.user_us) == (expected, 3, 1.0, 10.0)


def test_shares_of_layers_are_those_of_their_samples_and_add_up():
    stacks = {"program.py:select": 10, "program.py:select;driver.py:execute": 30, ":GC:": 10}
    found = row(judged((PSYCOPG, sample(PSYCOPG, select=use(1000.0, waiting=0.2), stacks=stacks))), "psycopg")
    assert {share.layer: share.share for share in found.layers} == {"driver": 0.6, "application": 0.2, "interpreter": 0.2}
    assert sum(share.user_us for share in found.layers) == pytest.approx(found.user_us.estimate)
    assert found.functions == {"program.py:select": "application", "driver.py:execute": "driver", ":GC:": "interpreter"}
    assert row(judged((PSYCOPG, sample(PSYCOPG, stacks=stacks))), "psycopg", "point").layers == []


def test_without_samples_there_are_no_layers():
    assert layers.shares({}, "driver", 10.0) == []


# --- what follows ---------------------------------------------------------------------------------------------------


def test_the_verdict_names_who_waits_least_and_most_at_each_round_trip_time():
    waiting = {("pymysql", 0.0): 0.1, ("mysqlclient", 0.0): 0.4, ("pymysql", 1.0): 0.5, ("mysqlclient", 1.0): 0.9}
    samples = []
    for (driver, rtt_ms), share in waiting.items():
        of = cell(driver, "mariadb", rtt_ms)
        samples.append((of, sample(of, select=use(100.0, share), point=use(100.0, share))))
    near, far = judged(*samples).verdict.split("\n")
    assert "on the same machine: 10% (pymysql) to 40% (mysqlclient) of a SELECT" in near
    assert "network of 1 ms: 50% (pymysql) to 90% (mysqlclient) of a SELECT" in far


def test_a_run_of_sqlite_alone_has_a_verdict_too():
    sqlite = cell("sqlite3", "sqlite")
    seen = [(of, sample(of, select=use(100.0, 0.0), point=use(9.0, 0.0))) for of in (sqlite, cell("apsw", "sqlite"))]
    assert "0% (sqlite3)" in judged(seen[0]).verdict
    assert judged(*seen).verdict == (
        "What share of a driver's time is waiting, with SQLite, which is part of the program and no server to wait for: "
        "0% (sqlite3 and apsw) of a SELECT of 1,000 rows, 0% (sqlite3 and apsw) of a read of one row; the rest is computing."
    )


def test_nothing_measured_is_said():
    assert judged(cells=[PSYCOPG]).verdict == "No driver was measured."


def finding(rule: str, *samples: tuple[object, object]) -> Finding:
    return next(found for found in judged(*samples).findings if found.rule == rule)  # type: ignore[arg-type]


def test_a_core_that_others_ran_on_is_found():
    fine, queued = (sample(PSYCOPG, select=use(100.0, 0.2, queued=share)) for share in (0.05, 0.4))
    assert finding("drivers-queued", (PSYCOPG, fine)).status == "absent"
    found = finding("drivers-queued", (PSYCOPG, queued))
    assert found.status == "present"
    assert [(each.what, each.observed) for each in found.evidence] == [("drivers/psycopg/select", pytest.approx(0.4))]


def test_a_driver_that_mostly_collects_garbage_is_found():
    busy, fine = ({"program.py:select": 100 - share, "program.py:select;:GC:": share} for share in (40, 10))
    found = finding("drivers-garbage", (PSYCOPG, sample(PSYCOPG, stacks=busy)))
    assert (found.status, found.evidence[0].observed) == ("present", 0.4)
    assert "40% of the CPU of psycopg" in found.statement
    assert finding("drivers-garbage", (PSYCOPG, sample(PSYCOPG, stacks=fine))).status == "absent"
    assert finding("drivers-garbage", (PSYCOPG, sample(PSYCOPG))).status == "not-measured"


def test_a_against_a_says_what_can_be_told_apart():
    first = [(PSYCOPG, sample(PSYCOPG, launch, select=use(100.0))) for launch in range(3)]
    second = [(PSYCOPG, sample(PSYCOPG, launch, control=True, select=use(102.0))) for launch in range(3)]
    found = finding("drivers-control", *first, *second)
    assert (found.status, found.evidence[0].observed) == ("absent", pytest.approx(0.02))
    assert finding("drivers-control", *first).status == "not-measured"


# --- what was published ---------------------------------------------------------------------------------------------


def published(times: dict[str, dict[float, float]], launches: int = 3, **profiles: float) -> dict[str, ClaimResult]:
    """Judge both drivers where the published script takes `times`, by round-trip time in ms: 1,000 INSERTs of 20 us."""
    samples = []
    for driver, by_rtt in times.items():
        for rtt_ms, seconds in by_rtt.items():
            of = cell(driver, "mariadb", rtt_ms)
            select = (seconds - 1000 * 20e-6) / 500 * 1e6
            waiting = 1 - LOCAL_S[MYSQLDB] / seconds if rtt_ms else 0.2
            seen = {
                "insert": profiled(20.0, 30, profiles.get("in_sockets", 0.0)),
                "select": profiled(select * 1.5, (CALLS[driver] - 30_000) // 500, profiles.get("in_sockets", 0.0)),
            }
            samples += [
                (of, sample(of, launch, insert=use(20.0, waiting), select=use(select, waiting), profiled=seen))
                for launch in range(launches)
            ]
    return {claim.claim: claim for claim in judged(*samples).claims}


def test_what_was_published_holds_of_itself():
    both = {driver: {0.0: LOCAL_S[driver], 8.0: NETWORK_S[driver]} for driver in CALLS}
    found = published(both, in_sockets=8.7 / 24)
    assert {claim.claim: claim.result for claim in found.values()} == dict.fromkeys(
        ["pymysql-local", "function-calls", "pymysql-by-network", "mysqldb-waits", "two-thirds-python"], "holds"
    )
    for claim in found.values():
        assert claim.ratio
        assert claim.ratio.estimate == pytest.approx(1, rel=0.01)
        assert claim.experiment == "drivers"


def test_another_ratio_fails_and_says_whose_time_it_is():
    claim = published({MYSQLDB: {0.0: 1.0}, PYMYSQL: {0.0: 3.0}})["pymysql-local"]
    assert claim.result == "fails"
    assert "less than published" in claim.because
    assert "80 % is its own" in claim.because


def test_without_a_network_there_is_nothing_to_hold_its_figures_against():
    claim = published({MYSQLDB: {0.0: 1.0}, PYMYSQL: {0.0: 9.0}})["pymysql-by-network"]
    assert claim.result == "not-measured"
    assert "--rtt 8ms" in claim.because


def test_one_launch_decides_nothing():
    claim = published({MYSQLDB: {0.0: 1.03}, PYMYSQL: {0.0: 9.12}}, launches=1)["pymysql-local"]
    assert claim.result == "not-measured"


def test_the_verdict_does_not_call_queueing_computing():
    alone, crowded = (judged((PSYCOPG, sample(PSYCOPG, select=use(100.0, 0.2, queued=share)))).verdict for share in (0.0, 0.5))
    assert alone.endswith("the rest is computing.")
    assert "queueing for a core" in crowded


def test_a_wide_interval_decides_nothing_wherever_its_middle_is():
    apart = [(cell(MYSQLDB, "mariadb"), 1.03), (cell(PYMYSQL, "mariadb"), 9.12)]
    seen = [
        (of, sample(of, launch, select=use(seconds * 1e3 * (by if of.driver == PYMYSQL else 1))))
        for launch, by in enumerate((0.4, 1.0, 2.5))
        for of, seconds in apart
    ]
    found = {claim.claim: claim for claim in judged(*seen).claims}
    assert found["pymysql-local"].result == "not-measured"
    assert "too uncertain" in found["pymysql-local"].because


def test_every_published_figure_has_a_line_which_says_what_it_takes():
    alone = cell(PYMYSQL, "mariadb")
    found = judged((alone, sample(alone))).claims
    assert len(found) == 5
    assert {claim.result for claim in found} == {"not-measured"}
    assert all("--drivers mysqlclient,pymysql" in claim.because for claim in found)
    local = published({MYSQLDB: {0.0: 1.0}, PYMYSQL: {0.0: 9.0}})
    assert all("--rtt" in local[name].because for name in ("pymysql-by-network", "mysqldb-waits", "two-thirds-python"))


def test_other_services_have_no_claims():
    assert judged((PSYCOPG, sample(PSYCOPG))).claims == []
