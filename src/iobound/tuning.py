"""Equal tuning: the same search over workers, threads and pool for every contender, then their bests against each other.

Each setting is varied by itself, the others at their defaults; the best levels are then measured together. That is a coordinate
search of one round: what only helps together isn't found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from iobound.errors import UsageError
from iobound.lab.catalogue import Target
from iobound.lab.parts import Knob
from iobound.planning import NOTHING, Question, at_levels
from iobound.records import Setting, Workload
from iobound.workloads import need

DEFAULTS: dict[Knob, int] = {"WORKERS": 1, "THREADS": 10, "POOL_SIZE": 10}
EXPERIMENT, BEST = "tune", "best"


def levels(cores: int) -> dict[Knob, list[int]]:
    """Return what each setting is tried at, its default first, on so many cores of the target."""
    return {
        "WORKERS": [1, *sorted({2, cores, 2 * cores + 1} - {1})],
        "THREADS": [10, 2, 4, 20, 50],
        "POOL_SIZE": [10, 1, 3, 20, 50],
    }


def search(targets: Sequence[Target], workload: Workload, concurrency: int, cores: int) -> Question:
    """Ask for each target what each of its settings is worth, a pool's only where the workload reaches a service.

    Raises `UsageError` for a target that doesn't serve the workload, and where none has a setting.
    """
    question = NOTHING
    for target in targets:
        if not target.serves(workload):
            raise UsageError(f"{target.name} doesn't serve the workload {workload}; `iobound list` shows what each needs")
        for knob, tried in levels(cores).items():
            if knob in target.knobs and (knob != "POOL_SIZE" or need(workload) != "nothing"):
                contenders = [(str(level), target, {str(knob): str(level)}) for level in tried]
                of = f"{EXPERIMENT}/{workload}/{target.name}/{knob}"
                asked = f"{knob} of {target.name}"
                question += at_levels(EXPERIMENT, of, asked, contenders, workload, concurrency, control=True)
    if not question.cells:
        names = " and ".join(target.name for target in targets)
        raise UsageError(f"{names}: nothing to tune, as neither workers nor threads nor a pool can be set for {workload}")
    return question


def best(target: str, found: Iterable[Setting]) -> dict[str, str]:
    """Return the levels that are better than their defaults beyond doubt, the best of each setting."""
    chosen: dict[str, tuple[float, int]] = {}
    for each in found:
        if each.target == target and each.verdict == "faster" and each.ratio:
            chosen[each.setting] = max(chosen.get(each.setting, (0.0, 0)), (each.ratio.estimate, each.level))
    return {setting: str(level) for setting, (_, level) in chosen.items()}


def final(targets: Sequence[Target], tuned: Mapping[str, Mapping[str, str]], workload: Workload, concurrency: int) -> Question:
    """Ask of each target that has something better what that is worth altogether, and of all how their bests compare."""
    question = NOTHING
    for target in targets:
        if tuned[target.name]:
            pair = [("default", target, {}), (BEST, target, tuned[target.name])]
            question += at_levels(
                EXPERIMENT,
                gain_id(target.name, workload),
                f"{target.name} at its best",
                pair,
                workload,
                concurrency,
                control=True,
            )
    if len(targets) > 1:
        bests = [(target.name, target, tuned[target.name]) for target in targets]
        question += at_levels(EXPERIMENT, bests_id(workload), "best against best", bests, workload, concurrency, control=True)
    return question


def gain_id(target: str, workload: Workload) -> str:
    """Return the id of the comparison of a target's default with its best."""
    return f"{EXPERIMENT}/{workload}/{target}/{BEST}"


def bests_id(workload: Workload) -> str:
    """Return the id of the comparison of the bests."""
    return f"{EXPERIMENT}/{workload}/{BEST}"
