"""What bound a number: decided here and nowhere else, for the cells of experiments and for `iobound load` alike.

The first line of this table that applies is the answer. CPU is in cores: 1.0 is one core busy all the time.

================  =====================================================================================================
errors            more than 1 % of the requests failed, or nothing was answered
noise             no block was quiet
generator         its busiest process used 0.9 of a core, or the relay of an injected round-trip time did; or it sent 0.95 of
                  what it reaches against a null server; or it sent less than 0.95 of the rate, later than answers take,
                  while connections were free; or the cores that it (or the relay) shares are saturated and its part is the
                  largest. Not so where the target's cores are saturated beyond doubt (0.95): then waiting for the target is
                  all that a faster generator could do.
target-cpu        the target used 0.9 of its cores, or of one core for each of its processes, if those are fewer (Python code of
                  one process runs on one core at a time); or shares saturated cores and its part is the largest
database-cpu      the service used 0.9 of its cores; or shares saturated cores with the generator and its part is the larger
concurrency       open loop: 0.95 of the offered rate was answered, so the offer was the limit
database-locks    half of the sessions that could be at work waited for a lock
pool              0.9 of the pool's connections were in use (executing, or their statement on the way), and at least 1.1
                  times as many requests wanted one
workers           at least 1.1 requests were in flight for each worker or thread: the others queued at the server
network           the round trips to the service are half of the response time: as many as a relay counted, else one for each
                  statement, each as long as a ping and the injected round-trip time
generator         closed loop: more than a tenth of the connections were between an answer and the next request, which is the
                  generator's part (or the user's who thinks), while nothing was saturated
concurrency       nothing was saturated and 0.9 of the connections waited for answers: only more load would give more; or an
                  open loop had free connections and sent all that was due, and answers take a good part of the block
unknown           what would decide is missing or contradicts itself; the sentence says which
================  =====================================================================================================

The order goes from what makes a number worthless over what is saturated to what is merely waited for: a queue at a pool, at
workers or at locks is a consequence wherever a CPU is saturated, and a cause only where none is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from iobound.records import BoundBy

ERRORS = 0.01  # of all requests: below, a percentile up to p99 isn't touched
BUSY = 0.9  # of a core: waking, clock ticks and permitted steal take the rest
BEYOND_DOUBT = 0.95  # of a core: acquits a generator that is busy too
CEILING = 0.95  # of the generator's ceiling, which itself repeats within some 5 %
OFFERED = 0.95  # of the rate: a block's first and last requests are cut off
LOCKED = 0.5  # of the sessions: more wait for each other than work
POOLED = 0.9  # of the pool: handing a connection over takes a moment
QUEUEING = 1.1  # callers a place: one in ten waits, more than a request between two places
ROUND_TRIPS = 0.5  # of the response time: nothing else takes longer
REACHED = 0.9  # of the rate: a target that answers less is measured under another load than its contenders
OVERDUE = 0.01  # of what was due: more wasn't sent than one connection in a hundred explains
OCCUPIED = 0.9  # of the connections: the others are between an answer and the next request


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What was observed over some time under load; whatever wasn't is ``None``.

    The load: `error_share`, failed of all requests; `connections` and `rate`, what was offered (`rate` in an open loop only);
    `overdue_share`, of what was due and never sent;
    `late_ms_p99`, how long after its due time a request was sent; `response_ms`, the mean response time.

    The generator: `generator_busiest`, the utilisation of its busiest process, and `generator_cpu`, of all of them.

    The target: `target_processes`, those that run its Python code; `slots`, the requests that it works on at a time, workers
    x threads (``None``: no limit, as in an event loop); `pool`, the connections to the service that all its processes may open;
    `target_shares`, whether the others run on its `target_cores` too.

    The service: `database_cpu`, 0 where none takes part; `database_cores`, what it may use; `together`, whether it shares those
    with the generator; `active` and `lock_waits`, mean sessions that execute, or wait for locks; `ping_us`, a round trip to it,
    to which `rtt_ms` is added by a relay; `round_trips_per_request`, as the relay counted them, and `relay_cpu`, what it took.

    `quota`: cores that all together may use.
    """

    error_share: float | None = None
    quiet: bool = True
    connections: int | None = None
    rate: float | None = None
    think_s: float = 0.0
    sent_per_second: float | None = None
    overdue_share: float = 0.0
    late_ms_p99: float | None = None
    requests_per_second: float | None = None
    response_ms: float | None = None
    in_flight: float | None = None
    generator_busiest: float | None = None
    generator_cpu: float | None = None
    generator_ceiling: float | None = None
    target_cpu: float | None = None
    target_cores: int = 1
    target_processes: int | None = None
    target_shares: bool = False
    slots: int | None = None
    database_cpu: float | None = None
    database_cores: int | None = None
    together: bool = False
    quota: float | None = None
    active: float | None = None
    lock_waits: float | None = None
    pool: int | None = None
    statements_per_request: float | None = None
    ping_us: float | None = None
    rtt_ms: float = 0.0
    round_trips_per_request: float | None = None
    relay_cpu: float | None = None

    @property
    def occupied(self) -> float | None:
        """Requests in flight; by Little's law where they weren't counted (J. D. C. Little, Operations Research 9, 1961)."""
        if self.in_flight is not None:
            return self.in_flight
        if self.requests_per_second is None or self.response_ms is None:
            return None
        return self.requests_per_second * self.response_ms / 1e3

    @property
    def callers(self) -> float | None:
        """Requests that the target works on at a time: those in flight, but no more than it has slots for."""
        known = [value for value in (self.occupied, self.slots) if value is not None]
        return min(known) if self.occupied is not None else None

    @property
    def trips_ms(self) -> float | None:
        """How long a request is on the way to the service and back, over all its round trips."""
        trips = self.statements_per_request if self.round_trips_per_request is None else self.round_trips_per_request
        return None if not trips or self.ping_us is None else trips * (self.ping_us / 1e3 + self.rtt_ms)

    @property
    def target_limit(self) -> int:
        """Cores that the target can use."""
        return min(self.target_cores, self.target_processes or self.target_cores)

    @property
    def shared(self) -> Iterator[tuple[dict[str, float], float]]:
        """What shares cores: CPU by tenant (where it was seen), and how many cores they share."""
        pair = {"generator": self.generator_cpu, "relay": self.relay_cpu, "database": self.database_cpu}
        everything = {**pair, "target": self.target_cpu}
        if self.target_shares:
            yield _known(everything), self.target_cores
        elif self.together and self.database_cores:
            yield _known(pair), self.database_cores
        if self.quota is not None:
            yield _known(everything), self.quota


def _known(parts: dict[str, float | None]) -> dict[str, float]:
    return {name: cpu for name, cpu in parts.items() if cpu}


def decide(evidence: Evidence) -> tuple[BoundBy, str]:
    """Return what bound the number and why, as a sentence with the figures that decided."""
    for kind, test in _ORDER:
        because = test(evidence)
        if because:
            return kind, because
    return "unknown", _unknown(evidence)


def overloaded(evidence: Evidence, bound: BoundBy) -> bool:
    """Whether an open loop offered more than could be answered. Answers that just take long are no sign of that."""
    rate, answered = evidence.rate, evidence.requests_per_second
    if not rate or answered is None or answered >= REACHED * rate:
        return False
    return bound not in {"concurrency", "network", "unknown"} or not _was_sent(evidence)


def _was_sent(e: Evidence) -> bool:
    """Whether an open loop sent what was due."""
    return bool(e.rate and e.sent_per_second and e.sent_per_second >= OFFERED * e.rate and e.overdue_share <= OVERDUE)


def _errors(e: Evidence) -> str | None:
    if e.error_share is not None and e.error_share > ERRORS:
        return f"{e.error_share:.1%} of the requests failed (limit {ERRORS:.0%})"
    if e.requests_per_second == 0:
        return "nothing was answered"
    return None


def _noise(e: Evidence) -> str | None:
    return None if e.quiet else "no block was quiet: something else used the machine in each of them"


def _generator(e: Evidence) -> str | None:
    if not e.target_shares and e.target_cpu is not None and e.target_cpu >= BEYOND_DOUBT * e.target_limit:
        return None
    if e.generator_busiest is not None and e.generator_busiest >= BUSY:
        return f"the generator used {e.generator_busiest:.0%} of its core{_while_target(e)}"
    rate, ceiling = e.requests_per_second, e.generator_ceiling
    if rate is not None and ceiling is not None and rate >= CEILING * ceiling:
        return f"{rate:,.0f}/s is {rate / ceiling:.0%} of the {ceiling:,.0f}/s that the generator reaches here at all"
    if e.relay_cpu is not None and e.relay_cpu >= BUSY:
        return f"the relay of the injected round-trip time used {e.relay_cpu:.0%} of its core{_while_target(e)}"
    return _held_back(e) or _largest_of_shared(e, "generator") or _largest_of_shared(e, "relay")


def _held_back(e: Evidence) -> str | None:
    """Say that an open loop sent too little, too late, while connections were free. Chance arrivals alone aren't late."""
    if e.connections is None or e.in_flight is None or e.in_flight >= OCCUPIED * e.connections:
        return None
    if not e.rate or e.sent_per_second is None or e.sent_per_second >= OFFERED * e.rate:
        return None
    if e.late_ms_p99 is None or e.late_ms_p99 < (e.response_ms or 0):
        return None
    return f"the generator sent {e.sent_per_second:,.0f}/s of {e.rate:,.0f}/s, late, though connections were free"


def _target_cpu(e: Evidence) -> str | None:
    if e.target_cpu is None:
        return None
    if not e.target_shares and e.target_cpu >= BUSY * e.target_limit:
        process = ", all that one process can" if e.target_limit < e.target_cores and e.target_limit == 1 else ""
        return f"the target used {_cores(e.target_cpu, e.target_limit)}{process}"
    return _largest_of_shared(e, "target")


def _database_cpu(e: Evidence) -> str | None:
    if e.database_cpu is None:
        return None
    if e.database_cores and e.database_cpu >= BUSY * e.database_cores:
        return f"the service used {_cores(e.database_cpu, e.database_cores)}"
    return _largest_of_shared(e, "database")


def _largest_of_shared(e: Evidence, tenant: str) -> str | None:
    """Say that shared cores are saturated if they are and `tenant` takes the largest part; in a tie, what is measured does."""
    for parts, cores in e.shared:
        if sum(parts.values()) >= BUSY * cores and max(reversed(parts), key=lambda name: parts[name]) == tenant:
            shares = ", ".join(f"{name} {cpu:.0%}" for name, cpu in parts.items())
            where = "a core" if cores == 1 else f"{cores:g} cores"
            return f"{' and '.join(parts)} share {where}, used up ({shares} of a core)"
    return None


def _rate_answered(e: Evidence) -> str | None:
    if e.rate and e.requests_per_second is not None and e.requests_per_second >= OFFERED * e.rate:
        return f"the offered {e.rate:,.0f}/s was the limit: {e.requests_per_second:,.0f}/s were answered{_while_target(e)}"
    return None


def _sent_in_time(e: Evidence) -> str | None:
    """Say that an open loop lacked nothing: what isn't answered yet was sent last, and the block ended before its answer."""
    if not e.rate or not _idle(e) or not _was_sent(e) or e.connections is None or e.in_flight is None:
        return None
    if e.in_flight >= OCCUPIED * e.connections:
        return None
    return f"the offered {e.rate:,.0f}/s was the limit: nothing was saturated ({_uses(e)}), and it was sent in time"


def _locks(e: Evidence) -> str | None:
    sessions = min((n for n in (e.callers, e.pool) if n is not None), default=None)
    if e.lock_waits is None or not sessions or e.lock_waits < LOCKED * sessions:
        return None
    return f"{e.lock_waits:.1f} of {sessions:.1f} sessions waited for locks"


def _pool(e: Evidence) -> str | None:
    if not e.pool or e.active is None or e.callers is None or e.callers < QUEUEING * e.pool:
        return None
    travelling = (e.requests_per_second or 0) * (e.trips_ms or 0) / 1e3
    used = min(e.active + travelling, e.pool)
    if used < POOLED * e.pool or not _idle(e):
        return None
    wanted = f"{e.callers:.1f} requests wanted one"
    return f"{used:.1f} of {e.pool} pooled connections were in use and {wanted}, while no CPU was saturated"


def _workers(e: Evidence) -> str | None:
    if not e.slots or e.occupied is None or e.occupied < QUEUEING * e.slots or not _idle(e):
        return None
    places = "1 place" if e.slots == 1 else f"{e.slots} places (workers x threads)"
    return f"{e.occupied:.1f} requests were in flight for {places}, while no CPU was saturated"


def _network(e: Evidence) -> str | None:
    trips_ms = e.trips_ms
    if trips_ms is None or not e.response_ms or trips_ms < ROUND_TRIPS * e.response_ms:
        return None
    if e.round_trips_per_request is None:
        trips = f"{e.statements_per_request:.1f} statements"
    else:
        trips = f"{e.round_trips_per_request:.1f} round trips"
    each = f"{(e.ping_us or 0) / 1e3 + e.rtt_ms:,.2f} ms" if e.rtt_ms else f"{e.ping_us:,.0f} us"
    return f"{trips} x {each} to the service and back are {trips_ms / e.response_ms:.0%} of the response time"


def _between_requests(e: Evidence) -> str | None:
    if e.rate or not _idle(e) or e.connections is None or (waiting := _waiting(e)) is None:
        return None
    if waiting >= OCCUPIED * e.connections:
        return None
    return (
        f"{e.connections - waiting:.1f} of {e.connections} connections were between an answer and the next request, "
        f"while nothing was saturated ({_uses(e)})"
    )


def _concurrency(e: Evidence) -> str | None:
    waiting = _waiting(e)
    if not _idle(e) or e.connections is None or waiting is None or waiting < OCCUPIED * e.connections:
        return None
    return f"nothing was saturated ({_uses(e)}) and all {e.connections} connections were in use: it takes more load"


def _waiting(e: Evidence) -> float | None:
    """Return the connections that wait for an answer, or for a user who thinks."""
    return None if e.occupied is None else e.occupied + (e.requests_per_second or 0) * e.think_s


def _idle(e: Evidence) -> bool:
    """Whether all CPUs were seen; asked only after none was found saturated."""
    return e.target_cpu is not None and e.database_cpu is not None


def _unknown(e: Evidence) -> str:
    needed = {
        "the target's CPU": e.target_cpu,
        "the service's CPU": e.database_cpu,
        "the generator's CPU": e.generator_busiest,
        "the requests in flight": e.occupied,
    }
    missing = [name for name, value in needed.items() if value is None]
    if missing:
        seen = _uses(e)
        return f"{' and '.join(missing)} wasn't seen; of what was, nothing was saturated{f' ({seen})' if seen else ''}"
    return (
        f"nothing was saturated ({_uses(e)}), and yet only {e.occupied:.1f} requests were in flight "
        f"over {e.connections} connections"
    )


def _uses(e: Evidence) -> str:
    parts = {"target": e.target_cpu, "database": e.database_cpu, "generator": e.generator_busiest}
    return ", ".join(f"{name} {cpu:.0%} of a core" for name, cpu in parts.items() if cpu)


def _while_target(e: Evidence) -> str:
    return "" if e.target_cpu is None else f", while the target used {_cores(e.target_cpu, e.target_limit)}"


def _cores(used: float, cores: int) -> str:
    return f"{used:.0%} of a core" if cores == 1 else f"{used:.2f} of {cores} cores"


_ORDER: list[tuple[BoundBy, Callable[[Evidence], str | None]]] = [
    ("errors", _errors),
    ("noise", _noise),
    ("generator", _generator),
    ("target-cpu", _target_cpu),
    ("database-cpu", _database_cpu),
    ("concurrency", _rate_answered),
    ("database-locks", _locks),
    ("pool", _pool),
    ("workers", _workers),
    ("network", _network),
    ("generator", _between_requests),
    ("concurrency", _concurrency),
    ("concurrency", _sent_in_time),
]
