"""The results of several generator processes as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import zip_longest

import msgspec

from iobound.load.histogram import Histogram
from iobound.load.messages import Part
from iobound.records import GeneratorUse, LoadResult, TimeSeries


def merge(parts: Sequence[Part]) -> LoadResult | None:
    """Return the sum of the results; ``None`` where no process has recorded anything."""
    results = [part.result for part in parts if part.result]
    if len(results) < 2:
        return results[0] if results else None
    latency, late, waited = Histogram(), Histogram(), Histogram()
    for part in parts:
        if part.result:
            latency.merge(Histogram.decode(part.result.latency))
            waited.merge(Histogram.decode(part.result.waited))
        if part.late:
            late.merge(Histogram.decode(part.late))
    late_ns = late.percentile(99)
    first = results[0]
    return msgspec.structs.replace(
        first,
        started=min(result.started for result in results),
        seconds=max(result.seconds for result in results),
        connections=sum(result.connections for result in results),
        rate=None if first.rate is None else sum(result.rate or 0 for result in results),
        requests=sum(result.requests for result in results),
        responses=sum(result.responses for result in results),
        unanswered=sum(result.unanswered for result in results),
        overdue=sum(result.overdue for result in results),
        abandoned=sum(result.abandoned for result in results),
        status=_sum(result.status for result in results),
        errors=_sum(result.errors for result in results),
        connects=sum(result.connects for result in results),
        bytes_received=sum(result.bytes_received for result in results),
        in_flight_mean=sum(result.in_flight_mean or 0 for result in results),
        latency=latency.encode(),
        waited=waited.encode(),
        series=_series([result.series for result in results if result.series]),
        generator=GeneratorUse(
            processes=len(results),
            cpu_user_s=sum(result.generator.cpu_user_s for result in results),
            cpu_system_s=sum(result.generator.cpu_system_s for result in results),
            utilisation=max(result.generator.utilisation for result in results),
            late_ms_p99=None if late_ns is None else late_ns / 1e6,
            ceiling_requests_per_second=None,
        ),
    )


def _sum(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return dict(sorted(total.items()))


def _series(series: Sequence[TimeSeries]) -> TimeSeries:
    def add(columns: Iterable[list[int]]) -> list[int]:
        return [sum(values) for values in zip_longest(*columns, fillvalue=0)]

    return TimeSeries(
        step_ms=series[0].step_ms,
        responses=add(each.responses for each in series),
        failures=add(each.failures for each in series),
        latency_sum_us=add(each.latency_sum_us for each in series),
        latency_max_us=[max(values) for values in zip_longest(*(each.latency_max_us for each in series), fillvalue=0)],
    )
