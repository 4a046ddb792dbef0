"""Measuring without judging: a plan of a few short blocks, carried out for real."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from iobound.lab.laboratory import Laboratory
from iobound.measure.session import Session, Target
from iobound.planning import Question
from iobound.records import Observation, Plan

PROGRAMS = Path(__file__).parent / "programs"

Measure = Callable[..., list[Observation]]


@pytest.fixture(scope="session")
def laboratory() -> Iterator[Laboratory]:
    with Laboratory() as laboratory:
        yield laboratory


@pytest.fixture(scope="session")
def measure(laboratory: Laboratory) -> Measure:
    """Return a function that carries out a question about some targets and returns what was observed."""

    def measure(question: Question, *targets: Target, launches: int = 1, block_s: float = 0.3) -> list[Observation]:
        plan = Plan(
            experiments=["test"],
            cells=question.cells,
            comparisons=question.comparisons,
            launches=launches,
            blocks_per_launch=1,
            block_s=block_s,
            warmup_s=0,
            budget_s=600,
            precision=1,
            seed=0,
            quick=True,
        )
        observations: list[Observation] = []
        alone = set(laboratory.placement.target) if laboratory.placement.target_is_alone else set()

        def sink(seen: Observation) -> None:
            assert not os.sched_getaffinity(0) & alone, "iobound itself runs where only the target may"
            observations.append(seen)

        by_name = {target.name: target for target in targets}
        Session(plan, laboratory, by_name.__getitem__, sink, lambda seen, plan: 0.0, lambda what, share: None).run()
        return observations

    return measure


def program(what: str, *arguments: str) -> list[str]:
    """Return the command of the test service that does `what`."""
    return [sys.executable, str(PROGRAMS / "service.py"), what, "{port}", *arguments]
