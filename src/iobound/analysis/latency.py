"""Latencies of a block or of many: HDR histograms decoded, merged and asked for percentiles.

Of a request that wasn't answered when its block ended only a lower bound is known: how long it had waited. Leaving these out
would leave out the slowest: a stall at the end of a block is in no latency. They are what statisticians call censored, and
count as Kaplan and Meier have it (Nonparametric estimation from incomplete observations, JASA 53, 1958). A percentile that
lies beyond what the answered ones tell isn't given, nor is one that rests on a single request.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from hdrh.codec import HdrCookieException, HdrLengthException
from hdrh.histogram import HdrHistogram

NS_PER_MS = 1e6

PERCENTILES = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "p99.9": 99.9}
CURVE = (0.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 97.5, 99.0, 99.5, 99.75, 99.9, 99.95, 99.99, 100.0)

TOLERANCE = 1e-9  # of a share: sums of floating-point numbers

_DAMAGED = (HdrCookieException, HdrLengthException, TypeError, ValueError, zlib.error)


@dataclass(frozen=True)
class Latencies:
    """How often which latency occurred: the highest and the middle value of each filled bucket, ascending, in ns.

    `open_ns` and `open_counts` say the same of the waits that hadn't ended with their block.
    """

    highest_ns: npt.NDArray[np.float64]
    middle_ns: npt.NDArray[np.float64]
    counts: npt.NDArray[np.int64]
    open_ns: npt.NDArray[np.float64]
    open_counts: npt.NDArray[np.int64]

    @property
    def total(self) -> int:
        """The number of latencies."""
        return int(self.counts.sum())

    @property
    def sum_s(self) -> float:
        """The sum of all latencies in seconds: the time that these requests were in flight together."""
        return float(self.middle_ns @ self.counts) / 1e9

    @property
    def mean_ms(self) -> float | None:
        """The mean in milliseconds, ``None`` when empty."""
        return self.sum_s * 1e3 / self.total if self.total else None

    @property
    def max_ms(self) -> float | None:
        """The largest of an answer in milliseconds, ``None`` when empty."""
        return float(self.highest_ns[-1]) / NS_PER_MS if self.total else None

    @cached_property
    def _answered(self) -> npt.NDArray[np.float64]:
        """The share of all requests that is answered within each of `highest_ns`, by Kaplan and Meier."""
        longer_open = np.append(np.cumsum(self.open_counts[::-1])[::-1], 0)
        not_faster = np.cumsum(self.counts[::-1])[::-1]
        at_risk = not_faster + longer_open[np.searchsorted(self.open_ns, self.highest_ns)]
        share: npt.NDArray[np.float64] = 1 - np.cumprod(1 - self.counts / at_risk)
        return share

    def at(self, percentile: float) -> float | None:
        """Return the latency in milliseconds that `percentile` (0 to 100) of all don't exceed, ``None`` where it isn't known.

        Nearest rank, as the highest value of the bucket it falls into (so does HdrHistogram): at most 0.1 % too high.
        """
        place = int(np.searchsorted(self._answered, percentile / 100 - TOLERANCE))
        return float(self.highest_ns[place]) / NS_PER_MS if place < len(self.highest_ns) else None

    def _rests_on_several(self, percentile: float) -> bool:
        """Whether at least one request is slower, so that the percentile isn't just the slowest of too few."""
        return (1 - percentile / 100) * (self.total + int(self.open_counts.sum())) >= 1 - TOLERANCE

    def summary(self) -> dict[str, float | None] | None:
        """Return p50, p90, p99, p99.9, max and mean in milliseconds, ``None`` when empty; ``None`` is what isn't known.

        `max` and `mean` are of the answers.
        """
        if not self.total:
            return None
        points = {name: self.at(at) if self._rests_on_several(at) else None for name, at in PERCENTILES.items()}
        return points | {"max": self.max_ms, "mean": self.mean_ms}

    def curve(self) -> list[tuple[float, float]] | None:
        """Return pairs of a percentile (0 to 100) and its latency in milliseconds, ``None`` when empty."""
        pairs = [(at, self.at(at)) for at in CURVE if at == 100 or self._rests_on_several(at)]
        return [(percentile, value) for percentile, value in pairs if value is not None] or None


_Buckets = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.int64]]

_NOTHING: _Buckets = (np.empty(0), np.empty(0), np.empty(0, np.int64))


def decode(text: str, waited: str = "") -> Latencies:
    """Read a histogram (V2 compressed, base64, nanoseconds), with one of waits that hadn't ended beside it.

    What can't be read holds no latencies; the audit then finds fewer latencies than responses.
    """
    open_ns, _, open_counts = _buckets(waited)
    return Latencies(*_buckets(text), open_ns, open_counts)


def _buckets(text: str) -> _Buckets:
    if not text:
        return _NOTHING
    try:
        histogram = HdrHistogram.decode(text)
    except _DAMAGED:
        return _NOTHING
    counts = np.frombuffer(histogram.counts, dtype=np.dtype(histogram.counts._type_)).astype(np.int64)
    (filled,) = np.nonzero(counts)
    # The layout of an HDR histogram's buckets: HdrHistogram.get_value_from_index, for all filled ones at once.
    half, magnitude = histogram.sub_bucket_half_count, histogram.sub_bucket_half_count_magnitude
    bucket = (filled >> magnitude) - 1
    within = (filled & (half - 1)) + np.where(bucket < 0, 0, half)
    shift = np.maximum(bucket, 0) + histogram.unit_magnitude
    lowest, width = within << shift, 1 << shift
    return (lowest + width - 1).astype(float), lowest + (width - 1) / 2, counts[filled]


def merge(parts: Iterable[Latencies]) -> Latencies:
    """Put the latencies of several blocks together, as if they had been recorded in one."""
    present = list(parts)
    if not present:
        return decode("")

    def sorted_by(key: str, *names: str) -> Iterator[Any]:
        order = np.argsort(np.concatenate([getattr(part, key) for part in present]), kind="stable")
        return (np.concatenate([getattr(part, name) for part in present])[order] for name in names)

    answered = sorted_by("highest_ns", "highest_ns", "middle_ns", "counts")
    return Latencies(*answered, *sorted_by("open_ns", "open_ns", "open_counts"))
