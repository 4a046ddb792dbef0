"""Latencies of a block or of many: HDR histograms decoded, merged and asked for percentiles."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from hdrh.codec import HdrCookieException, HdrLengthException
from hdrh.histogram import HdrHistogram

NS_PER_MS = 1e6

PERCENTILES = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "p99.9": 99.9}
CURVE = (0.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 97.5, 99.0, 99.5, 99.75, 99.9, 99.95, 99.99, 100.0)

_DAMAGED = (HdrCookieException, HdrLengthException, TypeError, ValueError, zlib.error)


@dataclass(frozen=True)
class Latencies:
    """How often which latency occurred: the highest and the middle value of each filled bucket, ascending, in ns."""

    highest_ns: npt.NDArray[np.float64]
    middle_ns: npt.NDArray[np.float64]
    counts: npt.NDArray[np.int64]

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
        """The largest in milliseconds, ``None`` when empty."""
        return self.at(100.0)

    def at(self, percentile: float) -> float | None:
        """Return the latency in milliseconds that `percentile` (0 to 100) of all don't exceed, ``None`` when empty.

        Nearest rank, as the highest value of the bucket it falls into (so does HdrHistogram): at most 0.1 % too high.
        """
        if not self.total:
            return None
        rank = max(1, math.ceil(round(percentile / 100 * self.total, 6)))
        return float(self.highest_ns[np.searchsorted(np.cumsum(self.counts), rank)]) / NS_PER_MS

    def summary(self) -> dict[str, float] | None:
        """Return p50, p90, p99, p99.9, max and mean in milliseconds, ``None`` when empty."""
        points = {name: self.at(percentile) for name, percentile in PERCENTILES.items()}
        points |= {"max": self.max_ms, "mean": self.mean_ms}
        return {name: value for name, value in points.items() if value is not None} or None

    def curve(self) -> list[tuple[float, float]] | None:
        """Return pairs of a percentile (0 to 100) and its latency in milliseconds, ``None`` when empty."""
        pairs = [(percentile, self.at(percentile)) for percentile in CURVE]
        return [(percentile, value) for percentile, value in pairs if value is not None] or None


NONE = Latencies(np.empty(0), np.empty(0), np.empty(0, np.int64))


def decode(text: str) -> Latencies:
    """Read a histogram (V2 compressed, base64, nanoseconds).

    What can't be read holds no latencies; the audit then finds fewer latencies than responses.
    """
    if not text:
        return NONE
    try:
        histogram = HdrHistogram.decode(text)
    except _DAMAGED:
        return NONE
    counts = np.frombuffer(histogram.counts, dtype=np.dtype(histogram.counts._type_)).astype(np.int64)
    (filled,) = np.nonzero(counts)
    # The layout of an HDR histogram's buckets: HdrHistogram.get_value_from_index, for all filled ones at once.
    half, magnitude = histogram.sub_bucket_half_count, histogram.sub_bucket_half_count_magnitude
    bucket = (filled >> magnitude) - 1
    within = (filled & (half - 1)) + np.where(bucket < 0, 0, half)
    shift = np.maximum(bucket, 0) + histogram.unit_magnitude
    lowest, width = within << shift, 1 << shift
    return Latencies((lowest + width - 1).astype(float), lowest + (width - 1) / 2, counts[filled])


def merge(parts: Iterable[Latencies]) -> Latencies:
    """Put the latencies of several blocks together, as if they had been recorded in one."""
    present = [part for part in parts if part.total]
    if not present:
        return NONE
    highest = np.concatenate([part.highest_ns for part in present])
    order = np.argsort(highest, kind="stable")
    middle, counts = (np.concatenate([getattr(p, name) for p in present])[order] for name in ("middle_ns", "counts"))
    return Latencies(highest[order], middle, counts)
