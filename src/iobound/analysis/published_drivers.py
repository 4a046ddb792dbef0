"""The published comparison of MySQL drivers, 1,000 INSERTs and 500 SELECTs of 1,000 rows each, held against what is here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from iobound.analysis.published import held, scaled
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


@dataclass(frozen=True)
class Figure:
    """What was published: of the script on one machine, or by `network`."""

    statement: str
    unit: str
    published: float
    network: bool


FIGURES = {
    "pymysql-local": Figure(
        "PyMySQL takes an order of magnitude longer than MySQLdb on one machine",
        "x",
        LOCAL_S[PYMYSQL] / LOCAL_S[MYSQLDB],
        False,
    ),
    "function-calls": Figure(
        "PyMySQL makes 501 times the function calls of MySQLdb", "x", CALLS[PYMYSQL] / CALLS[MYSQLDB], False
    ),
    "pymysql-by-network": Figure(
        "PyMySQL takes 30 % longer than MySQLdb by network", "x", NETWORK_S[PYMYSQL] / NETWORK_S[MYSQLDB], True
    ),
    "mysqldb-waits": Figure(
        "by network MySQLdb waits 92 % of its time (read from the published figures)",
        "share",
        1 - LOCAL_S[MYSQLDB] / NETWORK_S[MYSQLDB],
        True,
    ),
    "two-thirds-python": Figure(
        "two thirds of PyMySQL's time by network is Python (under cProfile)", "share", 1 - SOCKETS_S / PROFILED_S, True
    ),
}


def claims(results: Results) -> list[ClaimResult]:
    """Hold each published figure against both drivers, over each round-trip time; nothing where neither was to be measured."""
    planned = [cell for cell in results.cells.values() if cell.driver in CALLS]
    if not planned:
        return []
    found: list[ClaimResult] = []
    for rtt_ms in sorted({cell.rtt_ms for cell in planned}):
        of = {cell.driver: cell for cell in planned if (cell.rtt_ms, cell.python) == (rtt_ms, planned[0].python)}
        if len(of) == len(CALLS) and all(results.samples[cell.id] for cell in of.values()):
            pair = Pair(results, of[MYSQLDB], of[PYMYSQL])
            found += _by_network(pair) if rtt_ms else _local(pair)
    missing = FIGURES.keys() - {claim.claim for claim in found}
    return found + [
        _claim(name, None, None, "not-measured", _missing(planned, FIGURES[name])) for name in FIGURES if name in missing
    ]


def _missing(planned: Sequence[DriverCell], published: Figure) -> str:
    """Say why a figure has no counterpart here."""
    if len({cell.driver for cell in planned}) < len(CALLS):
        return f"it takes both drivers: --drivers {MYSQLDB},{PYMYSQL}"
    if published.network and not any(cell.rtt_ms for cell in planned):
        return f"no round-trip time was injected; --rtt {NETWORK_MS:.0f}ms comes near the published network"
    if not published.network and all(cell.rtt_ms for cell in planned):
        return "all was measured over injected round-trip times; add 0 to those of --rtt"
    return "they weren't both measured so"


def _local(pair: Pair) -> Iterator[ClaimResult]:
    waiting = [pair.waiting(cell) for cell in (pair.mysqldb, pair.pymysql)]
    shares = [f"{100 - each.estimate * 100:.0f} %" for each in waiting if each]
    why = f"of MySQLdb's time {shares[0]} is its own, of PyMySQL's {shares[1]}" if len(shares) == 2 else ""
    yield _held("pymysql-local", pair.ratio(), pair.pymysql, why)
    few, many = (_calls(pair.results, cell) for cell in (pair.mysqldb, pair.pymysql))
    if few and many:  # which are the same each time
        here = Interval(estimate=many / few, low=many / few, high=many / few)
        counted = f"{figure(few)} and {figure(many)} here, {CALLS[MYSQLDB]:,} and {CALLS[PYMYSQL]:,} published"
        yield _held("function-calls", here, pair.pymysql, counted)


def _by_network(pair: Pair) -> Iterator[ClaimResult]:
    over = f"over {pair.mysqldb.rtt_ms:g} ms here, where the published network cost {NETWORK_MS:.0f} ms a statement"
    yield _held("pymysql-by-network", pair.ratio(), pair.pymysql, over)
    yield _held("mysqldb-waits", pair.waiting(pair.mysqldb), pair.mysqldb, over)
    of = pair.pymysql.id
    share, bias, plain = pair.results.mean(of, _in_python), pair.results.mean(of, _bias), pair.waiting(pair.pymysql)
    if share and bias and plain:
        slower = f"under cProfile it takes {bias.estimate:.1f} times as long"
        without = f"without, {1 - plain.estimate:.0%} isn't waiting"
        yield _held("two-thirds-python", share, pair.pymysql, f"{slower}; {without}; {over}")


def _script(uses: Mapping[Phase, U], value: Callable[[U], float]) -> float:
    """Return what the published script comes to, by the statements of two phases."""
    return sum(value(uses[phase]) / uses[phase].statements * times for phase, times in SCRIPT.items())


def _calls(results: Results, cell: DriverCell) -> float | None:
    """Return its function calls, as cProfile counts them."""
    of = next((sample.profiled for sample in results.samples[cell.id] if sample.profiled), None)
    return _script(of, lambda use: use.calls) if of else None


def _in_python(sample: DriverSample) -> float | None:
    """Return the share of the time under cProfile that isn't in sockets, run queues apart."""
    if not sample.profiled:
        return None
    return 1 - min(1.0, _script(sample.profiled, lambda use: use.sockets_s) / _script(sample.profiled, _alone))


def _bias(sample: DriverSample) -> float | None:
    """Return the time under cProfile over that without, run queues apart."""
    return _script(sample.profiled, _alone) / script_s(sample) if sample.profiled else None


def _held(name: str, here: Interval | None, cell: DriverCell, why: str) -> ClaimResult:
    if here is None:
        return _claim(name, None, cell, "not-measured", "no round measured both")
    result, because = held(here, FIGURES[name].published)
    return _claim(name, here, cell, result, "; ".join(filter(None, [because, why])))


def _claim(name: str, here: Interval | None, cell: DriverCell | None, result: Holds, because: str) -> ClaimResult:
    published = FIGURES[name]
    return ClaimResult(
        claim=name,
        source=SOURCE,
        statement=published.statement,
        unit=published.unit,
        published=published.published,
        here=here,
        bound_here=None,
        cell=cell.id if cell else None,
        result=result,
        because=because,
        ratio=scaled(here, published.published),
        experiment="drivers",
    )
