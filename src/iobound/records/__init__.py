"""What the stages exchange: the plan, the environment, the trials and the findings of a run.

Pure data: no clock, no process, no import of ours. Everything is a frozen msgspec struct, written as JSON.
Conventions: an estimated quantity is an `Interval`; a count is a number; what is absent is ``None``, never a magic value.
Units stand in the name (`_ns`, `_us`, `_ms`, `_s`); CPU times are per request where the name says ``per_request``.

Schema history
    1  the first one
    2  script experiments (drivers, bulk, calls, transfer) and the round-trip time as a factor
"""

from __future__ import annotations

from typing import Literal

from iobound.records.base import BoundBy, EndReason, Holds, Interval, Noise, Ranking, Record, Stage, Status, View
from iobound.records.bulk import BulkCell, BulkSample, BulkSummary
from iobound.records.calls import CallCell, CallSample, CallSummary
from iobound.records.drivers import DriverCell, DriverSample, DriverSummary
from iobound.records.scripts import Sample, ScriptCell, ScriptSummary
from iobound.records.transfer import TransferCell, TransferSample, TransferSummary
from iobound.records.tuning import Setting, Tuned
from iobound.records.walks import Step, StepRatio, Walk, Waterfall

__all__ = [
    "SCHEMA",
    "AnySample",
    "AnyScriptCell",
    "AnySummary",
    "BoundBy",
    "BulkCell",
    "BulkSample",
    "BulkSummary",
    "CallCell",
    "CallSample",
    "CallSummary",
    "Ceiling",
    "Cell",
    "CellSummary",
    "Change",
    "ClaimResult",
    "Comparison",
    "Control",
    "CpuPerRequest",
    "CpuUse",
    "DriverCell",
    "DriverSample",
    "DriverSummary",
    "EndReason",
    "Ending",
    "Environment",
    "Evidence",
    "Failure",
    "Finding",
    "GeneratorUse",
    "Holds",
    "Interval",
    "Judgement",
    "LoadResult",
    "Noise",
    "Observation",
    "Plan",
    "Progress",
    "Ranking",
    "Ratio",
    "Record",
    "RelayPrice",
    "Rounds",
    "RunHeader",
    "Sample",
    "ScriptCell",
    "ScriptSummary",
    "ServiceInfo",
    "ServiceUse",
    "Setting",
    "Stage",
    "Status",
    "Step",
    "StepRatio",
    "TimeSeries",
    "TransferCell",
    "TransferSample",
    "TransferSummary",
    "Trial",
    "Tuned",
    "View",
    "Walk",
    "Waterfall",
    "WebObservation",
    "Workload",
]

SCHEMA = 2

AnyScriptCell = DriverCell | BulkCell | CallCell | TransferCell
AnySample = DriverSample | BulkSample | CallSample | TransferSample
AnySummary = DriverSummary | BulkSummary | CallSummary | TransferSummary

# --- the plan -------------------------------------------------------------------------------------------------------


class Workload(Record, frozen=True):
    """What is asked of a target. Written ``name`` or ``name:parameter``, e.g. ``sql-list:1000``.

    `rows` is the size of the table, `reads` the point reads of one request, `wait_ms` how long the database sleeps.
    """

    name: str
    rows: int = 100
    reads: int = 10
    wait_ms: float = 10.0

    def __str__(self) -> str:
        plain = Workload(name=self.name)
        match self.name:
            case "sql-list" | "sql-point" | "mixed" if self.rows != plain.rows:
                return f"{self.name}:{self.rows}"
            case "sql-multi" if self.reads != plain.reads:
                return f"{self.name}:{self.reads}"
            case "db-wait" if self.wait_ms != plain.wait_ms:
                return f"{self.name}:{self.wait_ms:g}"
        return self.name


class Cell(Record, frozen=True):
    """One combination of levels: the unit that gets a number. `id` is unique within a run.

    `rate` is requests per second of the open loop; ``None`` in a fixed-rate cell means "half the capacity of the
    slowest valid contender of its comparison", known only while running. `rtt_ms` is the round-trip time put between the
    target and its service; 0 is none.
    """

    id: str
    experiment: str
    target: str
    workload: Workload
    view: View
    concurrency: int
    rate: float | None
    engine: str
    service: str | None
    settings: dict[str, str] = {}
    rtt_ms: float = 0.0


class Comparison(Record, frozen=True):
    """Cells that are measured side by side, interleaved, and judged against `baseline` (a cell id among `cells`).

    `control` asks for a second launch of the baseline, measured like a contender: A against A. `price` asks for blocks of the
    baseline with the probes off: what the instrument itself costs.
    """

    id: str
    question: str
    baseline: str
    cells: list[str]
    control: bool = True
    price: bool = False


class Rounds(Record, frozen=True):
    """A script experiment: its cells are measured in rounds, each of which launches every cell once, in an order of its own.

    The cell `baseline` is launched twice a round: A against A. There are `rounds` of them or more, within `budget_s`.
    """

    experiment: str
    baseline: str
    cells: list[AnyScriptCell]
    rounds: int
    budget_s: float


class Plan(Record, frozen=True):
    """All that is decided before measuring. The cells and comparisons are those that are asked over HTTP.

    `launches`: starts of every target, at least; `block_s`: seconds of one block, `warmup_s`: of load before, not recorded.
    `precision`: half the width of an interval, relative to its estimate, that is narrow enough to stop at.
    """

    experiments: list[str]
    cells: list[Cell]
    comparisons: list[Comparison]
    launches: int
    blocks_per_launch: int
    block_s: float
    warmup_s: float
    budget_s: float
    precision: float
    seed: int
    quick: bool
    scripts: list[Rounds] = []
    walks: list[Walk] = []


# --- the environment ------------------------------------------------------------------------------------------------


class ServiceInfo(Record, frozen=True):
    """A database or cache as it was found: where its binaries came from, its version, the settings it reports."""

    name: str
    version: str
    source: str
    settings: dict[str, str]
    ping_us: float | None


class Ceiling(Record, frozen=True):
    """What an engine reaches on this machine against a null server, at one concurrency."""

    engine: str
    concurrency: int
    requests_per_second: float
    cpu_us_per_request: float


class RelayPrice(Record, frozen=True):
    """What the relay that injects round-trip times costs here: the delay that it adds where it is to add none, and its CPU.

    `real_time` says that it runs before everything else on its cores, as the kernel lets root do.
    """

    added_us: float
    cpu_us_per_turn: float
    real_time: bool = False


class Environment(Record, frozen=True):
    """The machine and the software of a run.

    `cores` are those we may use; `target_cores` hold the target alone unless `shared_cores` names what shares them.
    `quota` is the CPU quota over all of them, in cores. `packages` maps an environment's name to its installed versions.
    `relay` is the price of injected round-trip times, where there are any, which vary by `jitter_ms`.
    """

    host: dict[str, str]
    cores: list[int]
    target_cores: list[int]
    other_cores: list[int]
    shared_cores: str | None
    services: list[ServiceInfo]
    packages: dict[str, dict[str, str]]
    ceilings: list[Ceiling]
    quota: float | None = None
    relay: RelayPrice | None = None
    jitter_ms: float = 0.0


# --- raw observations -----------------------------------------------------------------------------------------------


class TimeSeries(Record, frozen=True):
    """Per step of `step_ms`: responses, failures, and the sum and maximum of the latencies recorded in it."""

    step_ms: float
    responses: list[int]
    failures: list[int]
    latency_sum_us: list[int]
    latency_max_us: list[int]


class GeneratorUse(Record, frozen=True):
    """What the load generator itself took. `utilisation` is CPU seconds over wall seconds of its busiest process.

    `late_ms_p99` is how long after its due time a request was sent (open loop only). `ceiling_requests_per_second` is
    what this engine reaches here against a null server.
    """

    processes: int
    cpu_user_s: float
    cpu_system_s: float
    utilisation: float
    late_ms_p99: float | None
    ceiling_requests_per_second: float | None


class LoadResult(Record, frozen=True):
    """One block of load as the generator saw it.

    `requests` counts requests sent within the block; `responses` those answered completely and rightly with an expected
    status. `status` counts complete responses by code, `errors` failures by kind (``timeout``, ``reset``, ``refused``,
    ``short-body``, ``wrong-body``, ``bad-status``, ``protocol``, ``tls``, ``name``); `unanswered` were in flight at the end,
    `overdue` were due by then and never sent, since no connection was free (open loop). `abandoned` of the unanswered weren't
    answered either while the engine waited for them after the block.
    `started` is when recording began, by CLOCK_MONOTONIC in seconds (comparable across processes of one machine).
    `latency` is an HDR histogram of successes, V2 compressed base64, in ns, 3 significant digits; `waited` is one of how
    long those unanswered and overdue had waited when the block ended (empty where the engine doesn't know): their latencies
    are longer. `in_flight_mean` is the time-weighted mean number of requests in flight.
    """

    engine: str
    started: float
    seconds: float
    connections: int
    rate: float | None
    requests: int
    responses: int
    unanswered: int
    status: dict[str, int]
    errors: dict[str, int]
    connects: int
    bytes_received: int
    in_flight_mean: float | None
    latency: str
    series: TimeSeries | None
    generator: GeneratorUse
    overdue: int = 0
    abandoned: int = 0
    waited: str = ""


class CpuUse(Record, frozen=True):
    """CPU seconds spent on the requests of a block, by whom. `other` is the rest of what the machine spent, steal apart.

    They are read when the last of these requests is done, which may be seconds after the block: divided by the requests sent
    they are what one costs. `target_block_s` and `database_block_s` are the part that was spent before the block ended:
    divided by its seconds they are utilisation. `database_s` is 0 without a service, ``None`` where its processes aren't ours
    to see. `relay_block_s` is what the relay of an injected round-trip time took within the block; it is part of `other_s`.
    """

    target_user_s: float
    target_system_s: float
    database_s: float | None
    other_s: float
    target_block_s: float | None = None
    database_block_s: float | None = None
    relay_block_s: float | None = None


class ServiceUse(Record, frozen=True):
    """What the service counted within a block: data statements by verb, transaction control, rows, its own time.

    `active_mean` is the mean number of sessions busy at the service, `lock_waits_mean` of those waiting for a lock: samples
    taken while the block ran. ``None`` where the service can't tell. `round_trips` are those that a relay counted.
    """

    statements: dict[str, int]
    transaction_control: int
    rows: int
    busy_s: float | None
    active_mean: float | None
    lock_waits_mean: float | None
    sessions_max: int | None
    round_trips: int | None = None


class Trial(Record, frozen=True, tag="trial"):
    """One block of one cell: the raw observation.

    `launch` numbers the start of the target's processes, `block` the block within it. `control` marks the second launch
    of a baseline, `bare` a block of the baseline with the probes off, which lacks what they see. `ran` holds the labels read
    from the running process (server, loop, driver, debug …), and what the target runs with (`workers`, `threads`, `pool`),
    `rows_written` what was counted in the database after a writing block.
    """

    cell: str
    comparison: str
    launch: int
    block: int
    control: bool
    started: float
    load: LoadResult
    cpu: CpuUse
    target_cores: int
    service: ServiceUse | None
    noise: Noise
    ran: dict[str, str]
    rows_written: int | None = None
    bare: bool = False


class Failure(Record, frozen=True, tag="failure"):
    """A cell that could not be measured in a launch. `stage`: unavailable, start, verify, measure or account.

    The comparison of a script cell is its experiment. `expected` marks a failure that the target itself declares: a program
    published broken.
    """

    cell: str
    comparison: str
    launch: int
    stage: Stage
    reason: str
    expected: bool = False


class Ending(Record, frozen=True, tag="ending"):
    """Why measuring a comparison, or a script experiment, stopped."""

    comparison: str
    why: EndReason
    seconds: float


WebObservation = Trial | Failure | Ending
Observation = WebObservation | AnySample


class RunHeader(Record, frozen=True):
    """The head of a run folder (`run.json`). `created` is seconds since the epoch, UTC."""

    schema: int
    iobound: str
    created: float
    command: list[str]
    plan: Plan
    environment: Environment


# --- judgements -----------------------------------------------------------------------------------------------------


class CpuPerRequest(Record, frozen=True):
    """Microseconds of CPU a request, by whom. `other` is the rest of what the machine spent: a remainder."""

    target_user: Interval | None
    target_system: Interval | None
    database: Interval | None
    generator: Interval | None
    other: Interval | None = None


class Progress(Record, frozen=True):
    """A cell over its measured time, its blocks one after another, in at most 120 steps.

    `at_s` is where a step begins, `launch` the launch it lies in. A step without a response has no largest latency.
    """

    at_s: list[float]
    launch: list[int]
    requests_per_second: list[float]
    failures_per_second: list[float]
    latency_max_ms: list[float | None]


class CellSummary(Record, frozen=True):
    """One row of the results: a cell with what was measured, whether that means anything, and what bound it.

    `percentile_curve` pairs a percentile (0 to 100) with its latency in milliseconds, over all blocks that count.
    `round_trips_per_request` between target and service are known where a relay counted them.
    """

    id: str
    experiment: str
    comparison: str
    target: str
    workload: str
    view: View
    concurrency: int
    rate: float | None
    engine: str
    service: str | None
    valid: bool
    invalid_because: str | None
    at_least: bool
    bound_by: BoundBy | None
    bound_because: str | None
    requests_per_second: Interval | None
    latency_ms: dict[str, Interval | None] | None
    cpu_us_per_request: CpuPerRequest | None
    wait_us_per_request: Interval | None
    statements_per_request: float | None
    transaction_control_per_request: float | None
    rows_per_request: float | None
    in_flight: Interval | None
    active_at_service: float | None
    target_utilisation: float | None
    generator_utilisation: float | None
    ran: dict[str, str]
    settings: dict[str, str]
    launches: int
    blocks: int
    noisy_blocks: int
    percentile_curve: list[tuple[float, float]] | None = None
    progress: Progress | None = None
    rtt_ms: float = 0.0
    round_trips_per_request: float | None = None

    @property
    def asked(self) -> str:
        """The workload, and over which round-trip time: only where these are the same may cells be set side by side."""
        return f"{self.workload} over {self.rtt_ms:g} ms" if self.rtt_ms else self.workload


class Ratio(Record, frozen=True):
    """A contender against its baseline. `verdict` is ``faster``, ``slower``, ``tie`` or ``not-ranked`` (with the reason)."""

    comparison: str
    metric: Literal["requests_per_second", "cpu_us_per_request"]
    cell: str
    baseline: str
    ratio: Interval | None
    verdict: Ranking
    reason: str | None


class Change(Record, frozen=True):
    """A cell in a second run against the same cell in a first one."""

    cell: str
    target: str
    workload: str
    view: View
    metric: Literal["requests_per_second", "cpu_us_per_request"]
    ratio: Interval | None
    verdict: Ranking
    reason: str | None


class Control(Record, frozen=True):
    """A against A: the ratio of two launches of the same thing, and the smallest effect that can be told from none here."""

    comparison: str
    metric: Literal["requests_per_second", "cpu_us_per_request"]
    ratio: Interval | None
    detectable: float | None


class Evidence(Record, frozen=True):
    """One observed value beside the threshold it was held against, in `unit`."""

    what: str
    observed: float | None
    threshold: float | None
    unit: str
    cell: str | None = None


class Finding(Record, frozen=True):
    """A judged statement. `rule` is the rule's id; `advice` says what to do next."""

    rule: str
    status: Status
    statement: str
    evidence: list[Evidence] = []
    advice: str | None = None


class ClaimResult(Record, frozen=True):
    """A published statement held against what was measured here.

    `published` and `here` are the two figures in `unit`, `ratio` is here over published, `bound_here` says what bound
    the figure here. The engine of `cell` says who measured it. `result` is ``None`` where there is nothing to hold or fail: for
    absolute figures, which are of another machine, and for what Locust would have said.
    """

    claim: str
    source: str
    statement: str
    unit: str
    published: float | None
    here: Interval | None
    bound_here: BoundBy | None
    cell: str | None
    result: Holds | None
    because: str
    ratio: Interval | None = None
    experiment: str = "web"


class Judgement(Record, frozen=True):
    """All that analysis says of a run."""

    verdict: str
    cells: list[CellSummary]
    ratios: list[Ratio]
    controls: list[Control]
    findings: list[Finding]
    claims: list[ClaimResult]
    not_measured: list[Failure]
    endings: list[Ending]
    scripts: list[AnySummary] = []
    waterfalls: list[Waterfall] = []
