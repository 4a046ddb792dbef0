"""When the requests of an open loop are due."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Literal


def due_times(
    rate: float, arrivals: Literal["constant", "poisson"], start_ns: int, seed: int = 0, part: int = 0, parts: int = 1
) -> Iterator[int]:
    """Yield without end when requests are due, `rate` a second, in nanoseconds of the clock of `start_ns`.

    Constant arrivals are `1 / rate` apart, the first one at `start_ns`; Poisson arrivals have exponential gaps, the same for
    the same `seed`. This is the schedule of one of several `parts` of equal rate: constant arrivals of all parts together
    are evenly spaced, Poisson arrivals are independent.
    """
    if arrivals == "constant":
        number = 0
        while True:
            yield start_ns + round((number + part / parts) * 1e9 / rate)
            number += 1
    draw = random.Random(f"{seed}/{part}")
    due = float(start_ns)
    while True:
        due += draw.expovariate(rate) * 1e9
        yield round(due)
