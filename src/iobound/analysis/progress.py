"""A cell over time: the time series of its blocks one after another, in few enough steps to draw."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from iobound.records import Progress, Trial

STEPS = 120


@dataclass(frozen=True)
class _Step:
    launch: int
    at_s: float
    seconds: float
    responses: int
    failures: int
    latency_max_ms: float | None


def progress(trials: Sequence[Trial]) -> Progress | None:
    """Return the course of the blocks that have a time series; ``None`` where none has."""
    steps = _steps(trials)
    if not steps:
        return None
    launches = [list(group) for _, group in groupby(steps, key=lambda step: step.launch)]
    several = math.ceil(len(steps) / STEPS)
    while sum(math.ceil(len(launch) / several) for launch in launches) > STEPS:
        several += 1
    joined = [_join(launch[at : at + several]) for launch in launches for at in range(0, len(launch), several)]
    return Progress(
        at_s=[round(step.at_s, 3) for step in joined],
        launch=[step.launch for step in joined],
        requests_per_second=[step.responses / step.seconds for step in joined],
        failures_per_second=[step.failures / step.seconds for step in joined],
        latency_max_ms=[step.latency_max_ms for step in joined],
    )


def _steps(trials: Sequence[Trial]) -> list[_Step]:
    steps: list[_Step] = []
    began = 0.0
    for trial in sorted(trials, key=lambda trial: (trial.launch, trial.block)):
        series = trial.load.series
        if series is None:
            continue
        whole = series.step_ms / 1e3
        columns = zip(series.responses, series.failures, series.latency_max_us, strict=True)
        for number, (responses, failures, max_us) in enumerate(columns):
            seconds = min(whole, trial.load.seconds - number * whole)
            if seconds > whole / 10:  # a rest of a step is too short to speak of a rate
                latency_ms = max_us / 1e3 if responses else None
                steps.append(_Step(trial.launch, began + number * whole, seconds, responses, failures, latency_ms))
        began += trial.load.seconds
    return steps


def _join(steps: Sequence[_Step]) -> _Step:
    return _Step(
        launch=steps[0].launch,
        at_s=steps[0].at_s,
        seconds=sum(step.seconds for step in steps),
        responses=sum(step.responses for step in steps),
        failures=sum(step.failures for step in steps),
        latency_max_ms=max((step.latency_max_ms for step in steps if step.latency_max_ms is not None), default=None),
    )
