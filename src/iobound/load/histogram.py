"""Latencies in an HDR histogram: binned in bulk, exact to 3 significant digits, in memory that doesn't grow.

The bins are those of Gil Tene's HdrHistogram from 1 ns to 1 h: values below 2,048 have their own, above it 1,024 bins share
each power of two.
"""

from __future__ import annotations

import math

import numpy as np
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

LOWEST_NS = 1
HIGHEST_NS = 3_600_000_000_000
DIGITS = 3

_EXACT_BITS = 11  # values of so many bits have a bin each
_BINS = HdrHistogram(LOWEST_NS, HIGHEST_NS, DIGITS).counts_len


class Histogram:
    """Counts of durations in nanoseconds. What is longer than an hour counts as an hour."""

    def __init__(self) -> None:
        self.counts: NDArray[np.int64] = np.zeros(_BINS, dtype=np.int64)

    @classmethod
    def decode(cls, text: str) -> Histogram:
        """Read what `encode` wrote."""
        histogram = cls()
        histogram.counts[:] = np.frombuffer(HdrHistogram.decode(text).counts, dtype=np.int64)
        return histogram

    def encode(self) -> str:
        """Return the counts in HdrHistogram's V2 compressed format, base64."""
        encoder = HdrHistogram(LOWEST_NS, HIGHEST_NS, DIGITS)
        np.frombuffer(encoder.counts, dtype=np.int64)[:] = self.counts
        filled = np.flatnonzero(self.counts)
        if len(filled):
            encoder.set_internal_tacking_values(int(filled[0]), int(filled[-1]), self.total)
        text: str = encoder.encode().decode()
        return text

    def add(self, values: NDArray[np.int64]) -> None:
        """Count durations."""
        values = np.clip(values, 0, HIGHEST_NS)
        _, bits = np.frexp(values)  # exact: an hour has 42 bits, a float keeps 53
        shift = np.maximum(bits - _EXACT_BITS, 0)
        np.add.at(self.counts, (shift << (_EXACT_BITS - 1)) + (values >> shift), 1)

    def add_count(self, value: int, count: int) -> None:
        """Count one duration `count` times."""
        shift = max(min(value, HIGHEST_NS).bit_length() - _EXACT_BITS, 0)
        self.counts[(shift << (_EXACT_BITS - 1)) + (min(value, HIGHEST_NS) >> shift)] += count

    def merge(self, other: Histogram) -> None:
        """Add the counts of another."""
        self.counts += other.counts

    @property
    def total(self) -> int:
        """How many durations were counted."""
        return int(self.counts.sum())

    def percentile(self, percent: float) -> int | None:
        """Return the nanoseconds that `percent` of the durations don't exceed (nearest rank); ``None`` of nothing.

        The value is the highest of its bin, as HdrHistogram reports it.
        """
        rank = max(1, math.ceil(percent / 100 * self.total - 1e-9))
        if not self.total:
            return None
        return _highest(int(np.searchsorted(np.cumsum(self.counts), rank)))

    def mean(self) -> float | None:
        """Return the mean in nanoseconds, with every duration in the middle of its bin; ``None`` of nothing."""
        filled = np.flatnonzero(self.counts)
        if not len(filled):
            return None
        middles = np.array([(_lowest(int(index)) + _highest(int(index))) / 2 for index in filled])
        return float(np.average(middles, weights=self.counts[filled]))


def _lowest(index: int) -> int:
    shift = max((index >> (_EXACT_BITS - 1)) - 1, 0)
    return (index - (shift << (_EXACT_BITS - 1))) << shift


def _highest(index: int) -> int:
    shift = max((index >> (_EXACT_BITS - 1)) - 1, 0)
    return _lowest(index) + (1 << shift) - 1
