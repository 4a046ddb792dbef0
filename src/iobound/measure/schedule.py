"""In which order the contenders of a comparison are measured within one launch."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def order(contenders: Sequence[T], blocks: int, seed: int, launch: int) -> list[T]:
    """Return the contenders in measuring order, each `blocks` times.

    Rounds are drawn at random and every second one is the mirror of the one before (A B B A), so that a drift that is steady
    over a pair of rounds weighs on all alike. The same seed and launch give the same order.
    """
    draw = random.Random(f"{seed}/{launch}")
    sequence: list[T] = []
    latest: list[T] = []
    for number in range(blocks):
        latest = latest[::-1] if number % 2 else draw.sample(list(contenders), len(contenders))
        sequence += latest
    return sequence
