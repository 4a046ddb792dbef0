"""Carries out script experiments: rounds in which every cell is launched once, until the budget or the rounds are used up."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module

from iobound.errors import BadAnswer, IoboundError, Unavailable
from iobound.lab.laboratory import Laboratory
from iobound.lab.placement import away_from
from iobound.measure.schedule import order
from iobound.measure.session import RETRIES, Progress
from iobound.records import AnySample, AnyScriptCell, Ending, EndReason, Failure, Observation, Plan, Rounds, Sample, Stage


@dataclass(frozen=True)
class Turn:
    """Where in a run a launch stands: its round, and whether it is the baseline's second. `seed` and `quick` are the plan's."""

    launch: int
    control: bool
    seed: int
    quick: bool


@dataclass(frozen=True)
class RoundsSession:
    """The script experiments of a plan, the laboratory they are carried out in, and where observations go.

    `earlier` are the observations of an interrupted run that is continued.
    """

    plan: Plan
    laboratory: Laboratory
    sink: Callable[[Observation], None]
    progress: Progress
    earlier: Sequence[Observation] = ()

    def run(self) -> None:
        """Measure one experiment after the other."""
        ended = {seen.comparison for seen in self.earlier if isinstance(seen, Ending) and seen.why != "interrupted"}
        with away_from(self.laboratory.placement.target):
            for rounds in self.plan.scripts:
                if rounds.experiment not in ended:
                    _Experiment(self, rounds).run()


class _Experiment:
    def __init__(self, session: RoundsSession, rounds: Rounds) -> None:
        self.session = session
        self.rounds = rounds
        self.cells = {cell.id: cell for cell in rounds.cells}
        self.measure: Callable[[AnyScriptCell, Turn, Laboratory], AnySample] = import_module(
            f"iobound.measure.scripts.{rounds.experiment}"
        ).measure
        self.broken = {
            seen.cell for seen in session.earlier if isinstance(seen, Failure) and seen.comparison == rounds.experiment
        }
        measured = {id_: -1 for id_ in self.cells if id_ not in self.broken}
        for seen in session.earlier:
            if isinstance(seen, Sample) and seen.cell in measured:
                measured[seen.cell] = max(measured[seen.cell], seen.launch)
        self.first = 1 + min(measured.values(), default=-1)

    def run(self) -> None:
        """Measure rounds until there are enough, or another one wouldn't fit into the budget; the first one is whole."""
        self.started, last = time.monotonic(), 0.0
        why: EndReason = "launches"
        try:
            for launch in range(self.first, self.rounds.rounds):
                began = self._spent_s()
                if launch > self.first and began + last > self.rounds.budget_s:
                    why = "budget"
                    break
                if not self._round(launch):
                    break
                last = self._spent_s() - began
        except BaseException:
            self._end("interrupted")
            raise
        self._end(why)

    def _spent_s(self) -> float:
        return time.monotonic() - self.started

    def _end(self, why: EndReason) -> None:
        self.session.sink(Ending(comparison=self.rounds.experiment, why=why, seconds=self._spent_s()))

    def _round(self, launch: int) -> bool:
        """Launch every cell once and the baseline twice, in an order drawn for this round; tell whether any was measured."""
        once = [(id_, False) for id_ in self.cells]
        contenders = order([*once, (self.rounds.baseline, True)], 1, self.session.plan.seed, launch)
        measured = False
        for number, (id_, control) in enumerate(contenders):
            if id_ in self.broken:
                continue
            spent = self._spent_s() / self.rounds.budget_s
            before, after = ((launch + place / len(contenders)) / self.rounds.rounds for place in (number, number + 1))
            self.session.progress(f"{self.rounds.experiment}: {id_}", min(1.0, max(spent, before)))
            turn = Turn(launch, control, self.session.plan.seed, self.session.plan.quick)
            measured |= self._launch(self.cells[id_], turn, until_s=after * self.rounds.budget_s)
        return measured

    def _launch(self, cell: AnyScriptCell, turn: Turn, until_s: float) -> bool:
        """Measure one launch, again while it is noisy and the rounds are ahead of their schedule, which gives it `until_s`.

        A cell that has failed isn't tried again in this run.
        """
        for _ in range(1 + RETRIES):
            try:
                sample = self.measure(cell, turn, self.session.laboratory)
            except IoboundError as error:
                self.session.laboratory.check()
                self.broken.add(cell.id)
                self.session.sink(
                    Failure(
                        cell=cell.id,
                        comparison=self.rounds.experiment,
                        launch=turn.launch,
                        stage=_stage(error),
                        reason=str(error),
                    )
                )
                return False
            self.session.sink(sample)
            if sample.noise.quiet or self._spent_s() > until_s:
                break
        return True


def _stage(error: IoboundError) -> Stage:
    match error:
        case BadAnswer():
            return "verify"
        case Unavailable():
            return "unavailable"
    return "measure"
