"""CPU per request and utilisation of a block, against a server that burns a known time for each request."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from iobound.analysis.launches import Blocks, target_block_s
from iobound.lab.commands import CommandTarget
from iobound.load.spec import Exchange
from iobound.planning import SideBySide
from iobound.records import Observation, Trial, Workload

SERIAL = str(Path(__file__).parent / "programs" / "serial.py")
BURN_MS = 5.0

Measure = Callable[..., list[Observation]]


def serial(what: str, *arguments: str) -> CommandTarget:
    return CommandTarget(what, [sys.executable, "-S", SERIAL, what, "{port}", *arguments], [Exchange(status=200)])


def measured(measure: Measure, *targets: CommandTarget, connections: int) -> list[Trial]:
    question = SideBySide("test", "", targets, Workload(name="/")).capacity(connections, control=False)
    return [one for one in measure(question, *targets, block_s=0.8) if isinstance(one, Trial)]


@pytest.mark.parametrize("connections", [1, 10, 100, 300])
def test_queued_requests_cost_what_they_cost(measure: Measure, connections: int) -> None:
    """A server that serves one request after another: up to 300 wait in its queue when the block ends."""
    for trial in measured(measure, serial("burn", f"{BURN_MS}"), connections=connections):
        assert trial.load.responses
        per_request = Blocks([trial]).target_us
        assert per_request is not None
        assert per_request / 1e3 == pytest.approx(BURN_MS, rel=0.1)
        # one more is half done as the block ends, and reading the clocks is up to 20 ms beside either end of it
        assert target_block_s(trial.cpu) == pytest.approx(trial.load.responses * BURN_MS / 1e3, rel=0.1, abs=0.03)


def test_work_in_children_that_come_and_go_is_the_target_s(measure: Measure) -> None:
    for trial in measured(measure, serial("fork", f"{BURN_MS}"), connections=10):
        per_request = Blocks([trial]).target_us
        assert per_request is not None
        assert per_request / 1e3 > BURN_MS * 0.95
        assert target_block_s(trial.cpu) > trial.load.responses * BURN_MS / 1e3 * 0.85


def test_a_contender_that_is_never_at_rest_disturbs_the_others_and_is_named(measure: Measure) -> None:
    """It takes half of the core that the other is measured on, and is nobody foreign."""
    burn, restless = serial("burn", "1"), serial("restless", "1", "0.5")
    trials = measured(measure, burn, restless, connections=2)
    for trial in trials:
        disturbed = "targets that weren't asked anything" in str(trial.noise.because)
        assert disturbed == trial.cell.endswith("/burn"), trial.noise.because
