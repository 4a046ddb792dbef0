"""Carries out a plan: launches, verifies and measures the targets of each group, until precision or the budget ends it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from typing import Protocol

from iobound.errors import IoboundError, LabError
from iobound.lab.laboratory import Laboratory
from iobound.lab.placement import away_from
from iobound.lab.probes.peers import PeerProbe, Peers, both
from iobound.lab.targets import RunningTarget
from iobound.load import engine
from iobound.load.engine import DEFAULT
from iobound.load.spec import Exchange
from iobound.measure.block import Position, Subject, load_spec, measure_block
from iobound.measure.groups import Group, Launchable, group, launchable
from iobound.measure.schedule import order
from iobound.measure.verify import verify
from iobound.records import Cell, Comparison, Ending, EndReason, Failure, Plan, Stage, Trial, WebObservation, Workload

RETRIES = 2  # a noisy block is measured again at most this often
FIXED_SHARE = 0.5  # the fixed rate, as a share of the capacity of the slowest valid contender
VALID_SHARE = 0.99  # a contender counts for that while at least this share of its requests succeeds
LAUNCH_LIMIT = 4  # at most this many times the planned launches, however wide the interval

Width = Callable[[Sequence[WebObservation], Plan], float | None]


class Target(Protocol):
    """What is measured: a target of the catalogue, or a command of the user's."""

    @property
    def environment(self) -> str | None:
        """The locked environment that it runs in, ``None`` for the user's own."""
        ...

    def unavailable(self) -> str | None:
        """Say what this machine lacks for it."""
        ...

    def exchanges(self, workload: Workload, seed: int) -> list[Exchange]:
        """Return what it is asked, and must answer."""
        ...

    def expected_failure(self, workload: Workload) -> str | None:
        """Say why it is known to answer wrongly."""
        ...

    def launch(self, settings: Mapping[str, str], cpus: Sequence[int]) -> RunningTarget:
        """Start it on `cpus` and wait until it answers."""
        ...


Targets = Callable[[str], Target]
"""Finds a target by the name that cells call it."""


class Progress(Protocol):
    """Is told what is being done; `share` of the whole run is done by now (0 to 1)."""

    def __call__(self, what: str, share: float) -> None:
        """Note it."""
        ...


@dataclass(frozen=True)
class Session:
    """A plan, the laboratory it is carried out in, and where observations go. `width` judges how certain they are.

    `earlier` are the observations of an interrupted run that is continued.
    """

    plan: Plan
    laboratory: Laboratory
    targets: Targets
    sink: Callable[[WebObservation], None]
    width: Width
    progress: Progress
    earlier: Sequence[WebObservation] = ()

    def run(self) -> None:
        """Measure every group; each gets the share of the remaining budget that its blocks are of the remaining blocks."""
        ended = {seen.comparison for seen in self.earlier if isinstance(seen, Ending) and seen.why != "interrupted"}
        groups = [each for each in group(self.plan) if any(c.id not in ended for c in each.comparisons)]
        give_up = time.monotonic() + self.plan.budget_s
        with away_from(self.laboratory.placement.target):
            for number, each in enumerate(groups):
                left = max(0.0, give_up - time.monotonic())
                share = left * each.blocks / sum(later.blocks for later in groups[number:])
                _GroupSession(self, each, number / len(groups), 1 / len(groups)).run(share)
        self.progress("measured", 1.0)


class _GroupSession:
    """Measures one group, launch after launch."""

    def __init__(self, session: Session, group: Group, done: float, weight: float) -> None:
        self.session = session
        self.group = group
        self.cells = {cell.id: cell for cell in session.plan.cells}
        mine = {comparison.id for comparison in group.comparisons}
        self.seen = [seen for seen in session.earlier if seen.comparison in mine and not isinstance(seen, Ending)]
        self.done, self.weight = done, weight
        self.broken: set[str] = set()

    def run(self, budget_s: float) -> None:
        """Launch until the intervals are narrow enough, the budget is used up or the launches are."""
        plan, started = self.session.plan, time.monotonic()
        launch = 1 + max((seen.launch for seen in self.seen if isinstance(seen, Trial)), default=-1)
        longest = 0.0
        why: EndReason = "launches"
        try:
            while launch < plan.launches * LAUNCH_LIMIT:
                began = time.monotonic()
                if launch and began - started + longest > budget_s:
                    why = "budget"
                    break
                share = min(1.0, max(launch / plan.launches, (began - started) / budget_s if budget_s else 1.0))
                self.session.progress(self.group.comparisons[0].id, self.done + self.weight * share)
                if not self._launch(launch):
                    break
                longest = max(longest, time.monotonic() - began)
                launch += 1
                if launch >= plan.launches and self._precise():
                    why = "precision"
                    break
        except BaseException:
            self._end("interrupted", started)
            raise
        self._end(why, started)

    def _end(self, why: EndReason, started: float) -> None:
        for comparison in self.group.comparisons:
            self.session.sink(Ending(comparison=comparison.id, why=why, seconds=time.monotonic() - started))

    def _add(self, observation: Trial | Failure) -> None:
        self.seen.append(observation)
        self.session.sink(observation)

    def _precise(self) -> bool:
        plan = self.session.plan
        for comparison in self.group.comparisons:
            width = self.session.width([seen for seen in self.seen if seen.comparison == comparison.id], plan)
            if width is None or width > plan.precision:
                return False
        return True

    def _launch(self, launch: int) -> bool:
        """Start every target once and measure all comparisons on them; return whether anything was measured."""
        with ExitStack() as exits:
            subjects = self._start(launch, exits)
            measured = False
            for comparison in self.group.comparisons:
                measured |= self._measure(comparison, launch, subjects)
        return measured

    def _start(self, launch: int, exits: ExitStack) -> dict[tuple[Launchable, bool], Subject]:
        """Launch what the group needs, each once and the baseline of a controlled comparison twice; keep what started."""
        subjects: dict[tuple[Launchable, bool], Subject] = {}
        refused: dict[tuple[Launchable, bool], IoboundError] = {}
        for comparison, cell, control in self._contenders():
            key = (launchable(cell), control)
            if key in subjects or cell.id in self.broken:
                continue
            if key not in refused:
                try:
                    subjects[key] = self._subject(cell, exits)
                    continue
                except IoboundError as error:
                    refused[key] = error
            self._fail(cell, comparison.id, launch, "start", str(refused[key]))
        pids = {subject.target.root for subject in subjects.values()}
        return {key: replace(each, others=sorted(pids - {each.target.root})) for key, each in subjects.items()}

    def _contenders(self) -> Iterator[tuple[Comparison, Cell, bool]]:
        for comparison in self.group.comparisons:
            for id_ in comparison.cells:
                yield comparison, self.cells[id_], False
            if comparison.control:
                yield comparison, self.cells[comparison.baseline], True

    def _subject(self, cell: Cell, exits: ExitStack) -> Subject:
        target = self.session.targets(cell.target)
        reason = target.unavailable()
        if reason:
            raise LabError(reason)
        laboratory = self.session.laboratory
        settings = laboratory.settings(cell)
        running = exits.enter_context(target.launch(settings, laboratory.placement.target))
        service = laboratory.service(cell.service) if cell.service else None
        return Subject(running, target.exchanges(cell.workload, self.session.plan.seed), {}, service, laboratory.data_url(cell))

    def _measure(self, comparison: Comparison, launch: int, subjects: dict[tuple[Launchable, bool], Subject]) -> bool:
        """Verify the contenders of `comparison`, then measure their blocks in an order drawn for this launch."""
        ready: dict[tuple[str, bool], Subject] = {}
        for own, cell, control in self._contenders():
            subject = subjects.get((launchable(cell), control))
            if own is not comparison or subject is None or cell.id in self.broken:
                continue
            checked = self._verified(cell, comparison, launch, subject)
            if checked is not None:
                subjects[launchable(cell), control] = checked
                ready[cell.id, control] = checked
        contenders = [(id_, control, False) for id_, control in ready]
        if comparison.price and (comparison.baseline, False) in ready:
            contenders.append((comparison.baseline, False, True))
        measured = False
        blocks = self.session.plan.blocks_per_launch
        for block, (id_, control, bare) in enumerate(order(contenders, blocks, self.session.plan.seed, launch)):
            if id_ in self.broken:
                continue
            position = Position(comparison.id, launch, block, control, bare)
            measured |= self._block(self.cells[id_], position, ready[id_, control])
        return measured

    def _verified(self, cell: Cell, comparison: Comparison, launch: int, subject: Subject) -> Subject | None:
        target = self.session.targets(cell.target)
        exchanges = target.exchanges(cell.workload, self.session.plan.seed)
        expected = target.expected_failure(cell.workload)
        try:
            verify(subject.target.url, exchanges)
            found = self._warm_up(cell, subject)
            ran = subject.target.ran()
        except IoboundError as error:
            reason = f"{error} (expected: {expected})" if expected else str(error)
            self._fail(cell, comparison.id, launch, "verify", reason, expected=expected is not None)
            return None
        return replace(subject, exchanges=exchanges, ran=ran, peers=found)

    def _warm_up(self, cell: Cell, subject: Subject) -> Peers:
        """Offer some load that isn't recorded, so that pools are filled and caches warm; the later views need no more.

        Return the peers that a target without a service of ours was seen to have by now.
        """
        with PeerProbe(subject.target.root) if subject.service is None else nullcontext() as probe:
            if self.session.plan.warmup_s and cell.view == "capacity" and cell.engine == DEFAULT:
                spec = load_spec(cell, subject, self.session.laboratory, None, self.session.plan.warmup_s)
                engine.find(cell.engine).run(spec)
        return both(subject.peers, probe.found) if probe else subject.peers

    def _block(self, cell: Cell, position: Position, subject: Subject) -> bool:
        """Measure one block, again while it is noisy; return whether there is an observation."""
        rate = self._rate(cell)
        if cell.view == "fixed-rate" and rate is None:
            self._fail(
                cell, position.comparison, position.launch, "measure", "no contender has a valid capacity to take half of"
            )
            return False
        for _ in range(1 + RETRIES):
            try:
                trial = measure_block(cell, position, subject, self.session.laboratory, rate, self.session.plan.block_s)
            except IoboundError as error:
                self._fail(cell, position.comparison, position.launch, "measure", str(error))
                return False
            self._add(trial)
            if not subject.target.alive():
                reason = f"{cell.target} died while it was measured:\n{subject.target.output()}"
                self._fail(cell, position.comparison, position.launch, "measure", reason)
                return False
            if trial.noise.quiet:
                break
        return True

    def _rate(self, cell: Cell) -> float | None:
        """Return the rate of an open loop: the cell's own, else half the capacity of the slowest valid contender."""
        if cell.view == "capacity" or cell.rate is not None:
            return cell.rate
        rates = [
            seen.load.rate for seen in self.seen if isinstance(seen, Trial) and self._same_question(seen, cell, "fixed-rate")
        ]
        if rates:
            return rates[0]
        capacities = [
            seen
            for seen in self.seen
            if isinstance(seen, Trial) and self._same_question(seen, cell, "capacity") and seen.cell not in self.broken
        ]
        # one connection has no capacity to speak of, and a hundred may have one that ten can't carry
        alike = [seen for seen in capacities if self.cells[seen.cell].concurrency == cell.concurrency]
        means = mean_capacities(alike or capacities)
        return FIXED_SHARE * min(means.values()) if means else None

    def _same_question(self, trial: Trial, cell: Cell, view: str) -> bool:
        other = self.cells[trial.cell]
        return (other.view, other.engine, other.workload, other.rtt_ms) == (view, cell.engine, cell.workload, cell.rtt_ms)

    def _fail(self, cell: Cell, comparison: str, launch: int, stage: Stage, reason: str, expected: bool = False) -> None:
        """Note a failure; the cell isn't tried again in this run. Raises `LabError` where the laboratory is to blame."""
        self.session.laboratory.check()
        self.broken.add(cell.id)
        self._add(Failure(cell=cell.id, comparison=comparison, launch=launch, stage=stage, reason=reason, expected=expected))


def mean_capacities(trials: Iterable[Trial]) -> dict[str, float]:
    """Return the mean rate of successes (per second) of each cell most of whose requests succeeded."""
    found: dict[str, list[float]] = {}
    for trial in trials:
        answered = trial.load.requests - trial.load.unanswered
        if trial.load.responses and trial.load.responses >= VALID_SHARE * answered:
            found.setdefault(trial.cell, []).append(trial.load.responses / trial.load.seconds)
    return {cell: sum(rates) / len(rates) for cell, rates in found.items()}
