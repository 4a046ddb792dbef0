"""The stages in their order: lay out the laboratory, measure into a run folder, judge, render."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from iobound import __version__, runs
from iobound.analysis.judging import judge
from iobound.analysis.precision import width
from iobound.cli.progress import Bar
from iobound.lab import host
from iobound.lab.environments import environment as build_environment
from iobound.lab.laboratory import Laboratory
from iobound.load import calibration
from iobound.load.engine import DEFAULT
from iobound.measure.session import Session, Targets
from iobound.records import SCHEMA, Ceiling, Environment, Judgement, Plan, RunHeader
from iobound.report import html

REPORT = "report.html"


def describe(laboratory: Laboratory, plan: Plan, targets: Targets) -> Environment:
    """Record the machine, the services and the packages that `plan` is carried out with, and calibrate the generator."""
    placement = laboratory.placement
    services = {cell.service for cell in plan.cells if cell.service}
    names = {name for cell in plan.cells if (name := targets(cell.target).environment)}
    facts = host.facts()
    if placement.sharing:
        facts["placement"] = placement.sharing
    return Environment(
        host=facts,
        cores=placement.cores,
        quota=placement.quota,
        target_cores=placement.target,
        other_cores=sorted({*placement.services, *placement.generator}),
        shared_cores=None if placement.target_is_alone else placement.sharing,
        services=[laboratory.service(name).info() for name in sorted(services)],
        packages={name: build_environment(name).packages for name in sorted(names)},
        ceilings=ceilings(laboratory, {cell.concurrency for cell in plan.cells}),
    )


def ceilings(laboratory: Laboratory, concurrencies: set[int]) -> list[Ceiling]:
    """Measure what the generator reaches here against a null server that has the target's cores."""
    placement = laboratory.placement
    return [
        calibration.ceiling(DEFAULT, connections, placement.generator, placement.target)
        for connections in sorted(concurrencies)
    ]


def measure(
    folder: Path, plan: Plan, laboratory: Laboratory, targets: Targets, progress: Bar, resumed: runs.Run | None = None
) -> runs.Run:
    """Carry out `plan` into `folder` (or continue `resumed`) and read it back."""
    if resumed is None:
        header = RunHeader(
            schema=SCHEMA,
            iobound=__version__,
            created=time.time(),
            command=sys.argv[1:],
            plan=plan,
            environment=describe(laboratory, plan, targets),
        )
        writer = runs.RunWriter.create(folder, header)
    else:
        writer = runs.RunWriter(folder)
    earlier = resumed.observations if resumed else []
    with writer:
        Session(plan, laboratory, targets, writer.add, width, progress, earlier).run()
    return runs.read(folder)


def report(run: runs.Run) -> Judgement:
    """Judge a run and write its HTML report into its folder."""
    judgement = judge(run.header, run.observations)
    runs.write(run.folder, REPORT, html.render(run.header, judgement, run.folder))
    return judgement


def exit_code(judgement: Judgement) -> int:
    """Return 1 where an answer was wrong that no target declares wrong, 4 where no cell says anything, else 0."""
    wrong = any(failure.stage in {"verify", "account"} and not failure.expected for failure in judgement.not_measured)
    lawless = any(finding.rule == "law-broken" and finding.status == "present" for finding in judgement.findings)
    if wrong or lawless:
        return 1
    return 0 if any(cell.valid for cell in judgement.cells) else 4
