"""Whose time it is: samples of stacks by the layer that the innermost known function of each belongs to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import get_args

from iobound.records.drivers import Layer, LayerShare

LAYERS: list[Layer] = list(get_args(Layer))

ORMS = {"sqlalchemy", "django", "tortoise", "pypika_tortoise", "pypika", "sqlmodel", "peewee", "piccolo", "greenlet"}
LOOPS = {"uvloop", "gevent", "python/asyncio"}
PROGRAM = {"program.py", "phases.py"}
RECEIVING = "_read_ready__data_received"  # what it calls is the driver's protocol, unseen where in C
GARBAGE = ":GC:"
STANDARD = "python/"


def layer(function: str, of_driver: Layer) -> Layer | None:
    """Return the layer of one function, written ``path:name``; ``None`` for one of the standard library, which serves others.

    `of_driver` is what the file ``driver.py`` is part of, behind which a library in C is unseen.
    """
    path = function.rpartition(":")[0]
    if function == GARBAGE:
        return "interpreter"
    if path in PROGRAM:
        return "application"
    if path == "driver.py":
        return of_driver
    if function.endswith(RECEIVING):
        return "driver"
    package = "/".join(path.split("/")[: 2 if path.startswith(STANDARD) else 1]).removesuffix(".py")
    if package in LOOPS:
        return "event loop"
    if package in ORMS:
        return "orm"
    return None if path.startswith((STANDARD, "<")) else "driver"


def functions(stacks: Mapping[str, int], of_driver: Layer) -> dict[str, Layer]:
    """Return the layers of the functions in `stacks`, as far as they are of one."""
    every = {function for stack in stacks for function in stack.split(";")}
    return {function: known for function in sorted(every) if (known := layer(function, of_driver))}


def shares(stacks: Mapping[str, int], of_driver: Layer, user_us: float) -> list[LayerShare]:
    """Return what each layer has of the samples in `stacks`, and of `user_us`; nothing without samples.

    A function of the standard library counts for the innermost of its callers that is known, the interpreter where none is.
    """
    counts: Counter[Layer] = Counter()
    for stack, count in stacks.items():
        known = (layer(function, of_driver) for function in reversed(stack.split(";")))
        counts[next((each for each in known if each), "interpreter")] += count
    total = counts.total()
    return [
        LayerShare(layer=each, samples=counts[each], share=counts[each] / total, user_us=user_us * counts[each] / total)
        for each in LAYERS
        if counts[each]
    ]
