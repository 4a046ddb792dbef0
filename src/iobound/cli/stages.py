"""The stages in their order: lay out the laboratory, measure into a run folder, judge, render."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import click

from iobound import __version__, runs
from iobound.cli import options
from iobound.cli.progress import Bar
from iobound.errors import LabError, NoVerdict, UsageError
from iobound.lab import host
from iobound.lab.environments import environment as build_environment
from iobound.lab.laboratory import Laboratory
from iobound.lab.network.price import price
from iobound.load import calibration
from iobound.load.engine import DEFAULT
from iobound.measure import scripts
from iobound.measure.rounds import RoundsSession
from iobound.measure.session import Session, Targets
from iobound.records import SCHEMA, Ceiling, Environment, Judgement, Plan, RunHeader, TransferSummary, WebObservation

REPORT = "report.html"
BROKEN = {"law-broken", "transfer-broken-promise"}  # findings that fail a run
COMMANDS = "compare"  # what a run of two commands calls its experiment


def describe(laboratory: Laboratory, plan: Plan, targets: Targets) -> Environment:
    """Record the machine, the services and the packages that `plan` is carried out with, and calibrate the generator."""
    placement = laboratory.placement
    scripted = [cell for rounds in plan.scripts for cell in rounds.cells]
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
        services=[service.info() for service in laboratory.services_of([*plan.cells, *scripted])],
        packages={**web_packages(plan, targets), **script_packages(plan)},
        ceilings=ceilings(laboratory, {cell.concurrency for cell in plan.cells}),
        relay=price(placement) if any(cell.rtt_ms for cell in (*plan.cells, *scripted)) else None,
        jitter_ms=laboratory.jitter_ms,
    )


def web_packages(plan: Plan, targets: Targets) -> dict[str, dict[str, str]]:
    """Return the versions of what is installed in the environments of the web cells, built where they aren't yet."""
    names = {name for cell in plan.cells if (name := targets(cell.target).environment)}
    return {name: build_environment(name).packages for name in sorted(names)}


def script_packages(plan: Plan) -> dict[str, dict[str, str]]:
    """Return the same for the script cells; what can't be had is told by the cells that need it."""
    found = {}
    for rounds in plan.scripts:
        measuring = import_module(f"{scripts.__name__}.{rounds.experiment}")
        for name, python in sorted({pair for cell in rounds.cells for pair in measuring.environments(cell)}, key=str):
            with suppress(LabError):
                built = build_environment(name, python)
                found[built.name] = built.packages
    return found


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
    """Carry out `plan` into `folder` (or continue `resumed`) and read it back.

    However it ends, what was measured is kept and reported. Raises `UsageError` where `resumed` was measured elsewhere.
    """
    from iobound.analysis.precision import width  # scipy: half a second that --help needn't wait

    header = RunHeader(
        schema=SCHEMA,
        iobound=__version__,
        created=time.time(),
        command=options.without_passwords(sys.argv[1:]),
        plan=plan,
        environment=describe(laboratory, plan, targets),
    )
    if resumed:
        refuse_other_laboratory(resumed, header)
    writer = runs.RunWriter(folder) if resumed else runs.RunWriter.create(folder, header)
    try:
        with writer:
            earlier = resumed.observations if resumed else []
            web = [seen for seen in earlier if isinstance(seen, WebObservation)]
            Session(plan, laboratory, targets, writer.add, width, progress, web).run()
            RoundsSession(plan, laboratory, writer.add, progress, earlier).run()
    except BaseException:
        keep(folder)
        raise
    return runs.read(folder)


def refuse_other_laboratory(resumed: runs.Run, now: RunHeader) -> None:
    """Raise `UsageError` naming the fields in which a run that is to be continued was measured otherwise than would be now."""
    from iobound.analysis import across

    was = resumed.header
    differing = [*across.differences(across.must_agree(was), across.must_agree(now))]
    differing += across.differences(across.may_differ(was), across.may_differ(now))
    if differing:
        raise UsageError(f"{resumed.folder} can't be continued; it was measured with other\n  " + "\n  ".join(differing))


def keep(folder: Path) -> None:
    """Report what an unfinished run has measured so far, and say how to continue it."""
    run = runs.read(folder)
    if run.observations:
        with suppress(LabError):  # a full disk, which is being told already
            report(run)
        way_on = "" if COMMANDS in run.header.plan.experiments else f"; continue with: iobound run --resume {folder}"
        click.echo(f"iobound: kept what was measured in {folder}{way_on}", err=True)


def report(run: runs.Run) -> Judgement:
    """Judge a run and write its HTML report into its folder."""
    from iobound.analysis.judging import judge
    from iobound.report import html

    judgement = judge(run.header, run.observations)
    runs.write(run.folder, REPORT, html.render(run.header, judgement, run.folder))
    return judgement


def show(run: runs.Run, judgement: Judgement, as_json: bool) -> None:
    """Print a judged run on standard output."""
    from iobound.report import json, terminal

    if as_json:
        click.echo(json.render(run.header, judgement, run.folder))
    else:
        terminal.render(run.header, judgement, terminal.console())
        click.echo(f"\nReport: {run.folder / REPORT}")


def exit_code(judgement: Judgement) -> int:
    """Return 1 where an answer was wrong that no target declares wrong, or accounts were that a strategy keeps right by its
    nature; 3 where nothing could be started; 4 where no cell says anything, and no walk from one target to another; else 0.
    """
    failures = judgement.not_measured
    wrong = any(failure.stage in {"verify", "account"} and not failure.expected for failure in failures)
    broken = any(finding.rule in BROKEN and finding.status == "present" for finding in judgement.findings)
    if wrong or broken:
        return 1
    measured = [*judgement.cells, *judgement.scripts]
    walked = [fall.product for fall in judgement.waterfalls if fall.direct and fall.product]
    if any(cell.valid or (isinstance(cell, TransferSummary) and cell.verdict == "wrong") for cell in measured):
        told = not judgement.waterfalls or any(product.low is not None for product in walked)
        return 0 if told else NoVerdict.exit_code
    nothing_started = failures and all(failure.stage in {"unavailable", "start"} for failure in failures)
    return LabError.exit_code if nothing_started and not measured else NoVerdict.exit_code
