"""A walk whose factors depend on each other by construction, on a real service: measured both ways, it says which."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from iobound.analysis.judging import judge
from iobound.lab.commands import CommandTarget
from iobound.load.spec import Exchange
from iobound.records import SCHEMA, Environment, Noise, Observation, Plan, RunHeader, Trial, Workload
from iobound.walks import walk_of_commands

PROGRAM = Path(__file__).parents[1] / "cli" / "programs" / "adjustable.py"
QUIET = Noise(steal=0, foreign=0, pressure=None, quiet=True, because=None)


def test_factors_that_only_help_together_are_named(measure: Callable[..., list[Observation]]):
    # 40 ms of sleep, 20 ms where both are set: the second one to be set seems to be all of it
    argv = ["env", "SLEEP_MS=40", sys.executable, str(PROGRAM), "{port}"]
    command = CommandTarget("A", argv, [Exchange(path="/", answer=b"ok")])
    factors = {"SPARE": ("", "1"), "ALSO": ("", "1")}
    question = walk_of_commands(command, command, factors, Workload(name="/"), 1)
    seen = measure(question, command, launches=2)
    plan = Plan(
        experiments=["compare"], cells=question.cells, comparisons=question.comparisons, walks=question.walks, launches=2,
        blocks_per_launch=1, block_s=0.3, warmup_s=0, budget_s=600, precision=1, seed=0, quick=True,
    )  # fmt: skip
    environment = Environment(
        host={}, cores=[0, 1], target_cores=[1], other_cores=[0], shared_cores=None, services=[], packages={}, ceilings=[]
    )
    header = RunHeader(schema=SCHEMA, iobound="test", created=0.0, command=[], plan=plan, environment=environment)
    # Sleeps are what they are on a machine that is disturbed, too.
    (fall,) = judge(header, [replace(one, noise=QUIET) if isinstance(one, Trial) else one for one in seen]).waterfalls
    worth = {step.factor: step.ratio.estimate for step in fall.steps if step.ratio}
    other_way = {step.factor: step.ratio.estimate for step in fall.backwards if step.ratio}
    assert (worth["SPARE"], worth["ALSO"]) == pytest.approx((1, 2), rel=0.15)
    assert (other_way["SPARE"], other_way["ALSO"]) == pytest.approx((2, 1), rel=0.15)
    assert set(fall.disagreeing) == {"SPARE", "ALSO"}
    assert fall.named
    assert fall.product and fall.direct
    assert fall.product.estimate == pytest.approx(fall.direct.estimate, rel=0.15)
