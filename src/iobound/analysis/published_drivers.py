"""The published comparison of MySQL drivers, 1,000 INSERTs and 500 SELECTs of 1,000 rows each, held against what is here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from iobound.analysis.published import NEAR, scaled
from iobound.analysis.sampled import Sampled
from iobound.analysis.words import figure
from iobound.records import ClaimResult, DriverCell, DriverSample, Holds, Interval
from iobound.records.drivers import Phase, PhaseUse, ProfiledPhase

SOURCE = "the published essay on asynchronous Python and databases: MySQL, 1,000 INSERTs and 500 SELECTs of 1,000 rows"
SCRIPT: dict[Phase, int] = {"insert": 1000, "select": 500}
MYSQLDB, PYMYSQL = "mysqlclient", "pymysql"

LOCAL_S = {MYSQLDB: 1.03, PYMYSQL: 9.12}
NETWORK_S = {MYSQLDB: 12.96, PYMYSQL: 17.70}
PROFILED_S, SOCKETS_S = 24.0, 8.7  # PyMySQL by network, under cProfile
CALLS = {MYSQLDB: 47_503, PYMYSQL: 23_800_000}
NETWORK_MS = (NETWORK_S[MYSQLDB] - LOCAL_S[MYSQLDB]) / sum(SCRIPT.values()) * 1e3  # that it cost a statement

U = TypeVar("U", PhaseUse, ProfiledPhase)
Results = Sampled[DriverCell, DriverSample]


@dataclass(frozen=True)
class Pair:
    """Both drivers at one round-trip time, on one interpreter."""

    results: Results
    mysqldb: DriverCell
    pymysql: DriverCell

    def ratio(self) -> Interval | None:
        """Return the time of PyMySQL over that of MySQLdb."""
        return self.results.ratio(self.pymysql.id, self.mysqldb.id, script_s)

    def waiting(self, cell: DriverCell) -> Interval | None:
        """Return the share of its time that a driver waits."""
        return self.results.mean(cell.id, lambda sample: _script(sample.phases, lambda use: use.wait_s) / script_s(sample))


def script_s(sample: DriverSample) -> float:
    """Return the seconds that the published script takes by the statements of a sample, with the core to itself."""
    return _script(sample.phases, _alone)


def _alone(use: PhaseUse | ProfiledPhase) -> float:
    return use.wall_s - use.runqueue_s


def claims(results: Results) -> list[ClaimResult]:
    """Hold each published figure against both drivers, over each round-trip time; nothing where neither was to be measured."""
    planned = [cell for cell in results.cells.values() if cell.driver in CALLS]
    python = planned[0].python if planned else None
    found: list[ClaimResult] = []
    for rtt_ms in sorted({cell.rtt_ms for cell in planned}):
        of = {cell.driver: cell for cell in planned if (cell.rtt_ms, cell.python) == (rtt_ms, python)}
        if len(of) == 2 and all(results.samples[cell.id] for cell in of.values()):
            pair = Pair(results, of[MYSQLDB], of[PYMYSQL])
            found += _by_network(pair) if rtt_ms else _local(pair)
    if planned and all(cell.rtt_ms == 0 for cell in planned):
        found.append(_claim("pymysql-by-network", _SLOWER, "x", _NETWORK_TIMES, None, None, "not-measured", _NO_NETWORK))
    return found


_SLOWER = "PyMySQL takes 30 % longer than MySQLdb by network"
_NETWORK_TIMES = NETWORK_S[PYMYSQL] / NETWORK_S[MYSQLDB]
_NO_NETWORK = f"no round-trip time was injected; --rtt {NETWORK_MS:.0f}ms comes near the published network"


def _local(pair: Pair) -> Iterator[ClaimResult]:
    ratio = pair.ratio()
    waiting = [pair.waiting(cell) for cell in (pair.mysqldb, pair.pymysql)]
    shares = [f"{100 - each.estimate * 100:.0f} %" for each in waiting if each]
    yield _held(
        "pymysql-local",
        "PyMySQL takes an order of magnitude longer than MySQLdb on one machine",
        "x",
        LOCAL_S[PYMYSQL] / LOCAL_S[MYSQLDB],
        ratio,
        pair.pymysql,
        f"of MySQLdb's time {shares[0]} is its own, of PyMySQL's {shares[1]}" if len(shares) == 2 else "",
    )
    calls = {cell.driver: _calls(pair.results, cell) for cell in (pair.mysqldb, pair.pymysql)}
    if (few := calls[MYSQLDB]) and (many := calls[PYMYSQL]):
        yield _held(
            "function-calls",
            "PyMySQL makes 501 times the function calls of MySQLdb",
            "x",
            CALLS[PYMYSQL] / CALLS[MYSQLDB],
            Interval(estimate=many / few, low=many / few, high=many / few),
            pair.pymysql,
            f"{figure(few)} and {figure(many)} here, {CALLS[MYSQLDB]:,} and {CALLS[PYMYSQL]:,} published",
        )


def _by_network(pair: Pair) -> Iterator[ClaimResult]:
    over = f"over {pair.mysqldb.rtt_ms:g} ms here, where the published network cost {NETWORK_MS:.0f} ms a statement"
    yield _held("pymysql-by-network", _SLOWER, "x", _NETWORK_TIMES, pair.ratio(), pair.pymysql, over)
    yield _held(
        "mysqldb-waits",
        "by network MySQLdb waits 92 % of its time (read from the published figures)",
        "share",
        1 - LOCAL_S[MYSQLDB] / NETWORK_S[MYSQLDB],
        pair.waiting(pair.mysqldb),
        pair.mysqldb,
        over,
    )
    profiled, plain = _profiled(pair.results, pair.pymysql), pair.waiting(pair.pymysql)
    if profiled and plain:
        share, bias = profiled
        yield _held(
            "two-thirds-python",
            "two thirds of PyMySQL's time by network is Python (under cProfile)",
            "share",
            1 - SOCKETS_S / PROFILED_S,
            Interval(estimate=share, low=share, high=share),
            pair.pymysql,
            f"under cProfile it takes {bias:.1f} times as long; without, {1 - plain.estimate:.0%} isn't waiting; {over}",
        )


def _script(uses: Mapping[Phase, U], value: Callable[[U], float]) -> float:
    """Return what the published script comes to, by the statements of two phases."""
    return sum(value(uses[phase]) / uses[phase].statements * times for phase, times in SCRIPT.items())


def _calls(results: Results, cell: DriverCell) -> float | None:
    """Return its function calls, as cProfile counts them."""
    of = next((sample.profiled for sample in results.samples[cell.id] if sample.profiled), None)
    return _script(of, lambda use: use.calls) if of else None


def _profiled(results: Results, cell: DriverCell) -> tuple[float, float] | None:
    """Return the share of its time under cProfile that isn't in sockets, and that time over that without, run queues apart."""
    for sample in results.samples[cell.id]:
        if of := sample.profiled:
            profiled_s = _script(of, _alone)
            in_sockets = min(1.0, _script(of, lambda use: use.sockets_s) / profiled_s)
            return 1 - in_sockets, profiled_s / script_s(sample)
    return None


def _held(
    claim: str, statement: str, unit: str, published: float, here: Interval | None, cell: DriverCell, why: str
) -> ClaimResult:
    """Hold a figure against that here: it carries over to another machine about as well as within `NEAR` times."""
    if here is None:
        return _claim(claim, statement, unit, published, None, cell, "not-measured", "no round measured both")
    if here.low is None or here.high is None:
        return _claim(claim, statement, unit, published, here, cell, "not-measured", f"one launch allows no interval; {why}")
    result: Holds
    if 1 / NEAR <= here.estimate / published <= NEAR:
        result, because = "holds", f"within {NEAR} times of it"
    elif here.low <= published * NEAR and here.high >= published / NEAR:
        result, because = "not-measured", f"too uncertain: the interval reaches to within {NEAR} times of it"
    else:
        result, because = "fails", "more than published" if here.estimate > published else "less than published"
    return _claim(claim, statement, unit, published, here, cell, result, "; ".join(filter(None, [because, why])))


def _claim(
    claim: str,
    statement: str,
    unit: str,
    published: float,
    here: Interval | None,
    cell: DriverCell | None,
    result: Holds,
    because: str,
) -> ClaimResult:
    return ClaimResult(
        claim=claim,
        source=SOURCE,
        statement=statement,
        unit=unit,
        published=published,
        here=here,
        bound_here=None,
        cell=cell.id if cell else None,
        result=result,
        because=because,
        ratio=scaled(here, published),
        experiment="drivers",
    )
