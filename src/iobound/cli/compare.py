"""``iobound compare``: two runs, or two commands of the user's own."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from iobound import runs
from iobound.cli import options, stages
from iobound.cli.progress import Bar
from iobound.errors import BadAnswer, NoVerdict, UsageError
from iobound.lab.commands import CommandTarget
from iobound.lab.laboratory import Laboratory
from iobound.lab.lock import MachineLock
from iobound.load.spec import Exchange
from iobound.measure.agreement import Start, agreed
from iobound.planning import SideBySide
from iobound.records import Change, Plan, Workload


@click.command(short_help="Compare two runs, or two commands of yours.", context_settings={"ignore_unknown_options": True})
@click.argument("what", nargs=-1, type=click.UNPROCESSED, metavar="RUN_A RUN_B | -- CMD_A -- CMD_B")
@click.option("--path", "paths", multiple=True, metavar="PATH", help="Request this path of both commands (repeatable).")
@click.option("--concurrency", type=options.CONNECTIONS, default="10", show_default=True, help="Connections, e.g. 1,10,100.")
@click.option("--rate", type=options.Rate(), help="Requests a second of the open loop.")
@click.option("--quick", is_flag=True, help="Three launches in short blocks.")
@click.option("--budget", type=options.Duration(), default="120s", show_default=True, help="Stop after about this long.")
@click.option("--precision", type=click.FloatRange(0.001, 1), default=0.05, show_default=True, help="Half-width to stop at.")
@click.option("--target-cores", type=click.IntRange(min=1), default=1, show_default=True, help="Cores of the target.")
@click.option("--different-answers", is_flag=True, help="Compare the commands though they answer differently.")
@click.option("--out", type=click.Path(path_type=Path), help="Run folder (default: ./iobound-runs/TIME).")
@click.option(
    "--allow-slower", type=click.FloatRange(min=0), metavar="PERCENT", help="Exit with 1 where RUN_B is slower by more."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    what: tuple[str, ...],
    allow_slower: float | None,
    paths: tuple[str, ...],
    concurrency: tuple[int, ...],
    rate: float | None,
    quick: bool,
    budget: float,
    precision: float,
    target_cores: int,
    different_answers: bool,
    out: Path | None,
    as_json: bool,
) -> int:
    """Compare two runs, or two commands that serve HTTP on the port they are told by {port}.

    \b
    Examples: iobound compare iobound-runs/A iobound-runs/B
              iobound compare --path /users -- ./serve-main {port} -- ./serve-branch {port}
    """
    if "--" not in what:
        if len(what) != 2:
            raise UsageError("give two run folders, or two commands: iobound compare --path / -- CMD_A -- CMD_B")
        return compare_runs(Path(what[0]), Path(what[1]), allow_slower, as_json)
    if allow_slower is not None:
        raise UsageError("--allow-slower is for two runs; of two commands neither was there first")
    middle = what.index("--")
    commands = {"A": what[:middle], "B": what[middle + 1 :]}
    if not all(commands.values()):
        raise UsageError("one of the two commands is empty; write: iobound compare --path / -- CMD_A -- CMD_B")
    folder = out or runs.default_folder()
    runs.check_new(folder)
    with MachineLock(), Laboratory(target_cores=target_cores) as laboratory, Bar() as progress:
        asked = [Exchange(path=path) for path in paths or ("/",)]
        if not different_answers:
            progress("asking both commands", 0)
            try:
                asked = agreed(Start(commands["A"]), Start(commands["B"]), asked)
            except BadAnswer as error:
                raise BadAnswer(f"{error}; --different-answers compares them anyway") from error
        targets = {name: CommandTarget(name, argv, asked) for name, argv in commands.items()}
        workload = Workload(name=" ".join(paths or ("/",)))
        pair = SideBySide(stages.COMMANDS, "the two commands", list(targets.values()), workload)
        parts = [pair.capacity(level) for level in concurrency]
        parts.append(pair.fixed_rate(concurrency[len(concurrency) // 2], rate))
        plan = Plan(
            experiments=[stages.COMMANDS],
            cells=[cell for part in parts for cell in part.cells],
            comparisons=[comparison for part in parts for comparison in part.comparisons],
            launches=3 if quick else 5,
            blocks_per_launch=2,
            block_s=0.8 if quick else 1.0,
            warmup_s=0.2,
            budget_s=budget,
            precision=precision,
            seed=1,
            quick=quick,
        )
        run = stages.measure(folder, plan, laboratory, targets.__getitem__, progress)
    judgement = stages.report(run)
    stages.show(run, judgement, as_json)
    return stages.exit_code(judgement)


def compare_runs(first: Path, second: Path, allow_slower: float | None, as_json: bool) -> int:
    """Print what changed from one run to the other; raises `UsageError` naming the fields that forbid it.

    Return 1 where something is slower than allowed, 4 where nothing could be told, else 0.
    """
    from iobound.analysis import across
    from iobound.analysis.judging import judge
    from iobound.report import changes, terminal

    one, other = runs.read(first), runs.read(second)
    refusing = across.differences(across.must_agree(one.header), across.must_agree(other.header))
    if refusing:
        raise UsageError(f"{first} and {second} can't be compared; they differ in\n  " + "\n  ".join(refusing))
    judged = [(judge(run.header, run.observations), run.observations) for run in (one, other)]
    found = across.changes(judged[0], judged[1])
    if not found:
        scripts = sorted({rounds.experiment for run in (one, other) for rounds in run.header.plan.scripts})
        why = "no cell (field `plan.cells`) is in both"
        if scripts:
            why += (
                f"; only cells of web targets are compared between runs, and rows of {', '.join(scripts)} within one: name all "
                "levels in one run, whose rounds then pair them, e.g. --python 3.8,3.13"
            )
        raise UsageError(f"{first} and {second} can't be compared: {why}")
    differing = across.differences(across.may_differ(one.header), across.may_differ(other.header))
    if as_json:
        click.echo(msgspec.json.encode({"runs": [str(first), str(second)], "differing": differing, "changes": found}))
    else:
        changes.render(found, differing, terminal.console())
    if allow_slower is not None and any(slower_percent(change) > allow_slower for change in found):
        return BadAnswer.exit_code
    return NoVerdict.exit_code if all(change.verdict == "not-ranked" for change in found) else 0


def slower_percent(change: Change) -> float:
    """Return by how many percent something became slower, 0 where that can't be told from chance."""
    if change.verdict != "slower" or change.ratio is None:
        return 0.0
    ratio = change.ratio.estimate
    return 100 * (1 - ratio if change.metric == "requests_per_second" else ratio - 1)
