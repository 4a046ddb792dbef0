"""How often a target is called different from itself, and how far its figures spread: sixty A/A comparisons.

.venv/bin/python benchmarks/repeatability.py [TARGETS]

Of each target (six, if not told otherwise) ten comparisons at different concurrencies share their launches, as in `iobound run
--quick`; each has its control as well. Prints what was called different, and the coefficients of variation between blocks and
between launches; exits with 1 where more than one in ten is called different.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from iobound import __version__
from iobound.analysis.judging import judge
from iobound.cli.stages import describe
from iobound.lab import catalogue
from iobound.lab.laboratory import Laboratory
from iobound.lab.lock import MachineLock
from iobound.measure.session import Session
from iobound.planning import NOTHING, at_levels
from iobound.records import SCHEMA, Plan, RunHeader, Trial, WebObservation, Workload

TARGETS = [
    "flask/gunicorn-gthread",
    "starlette/uvicorn-uvloop",
    "aiohttp/aiohttp",
    "falcon-wsgi/waitress",
    "bare-asgi/granian-asgi",
    "django/gunicorn-gthread",
]
CONNECTIONS = (1, 2, 4, 6, 8, 10, 16, 24, 32, 48)
MOST = 0.1  # of the comparisons may be called different


def main(targets: Sequence[str]) -> int:
    question = NOTHING
    for target in map(catalogue.find, targets):
        for connections in CONNECTIONS:
            pair = [("a", target, {}), ("b", target, {"AGAIN": "1"})]  # the same program, launched once more
            name = f"{target.name}/c{connections}"
            question += at_levels("repeatability", name, "A against A", pair, Workload(name="plain"), connections, control=True)
    plan = Plan(
        experiments=["repeatability"],
        cells=question.cells,
        comparisons=question.comparisons,
        launches=3,
        blocks_per_launch=1,
        block_s=0.8,
        warmup_s=0.2,
        budget_s=math.inf,
        precision=1.0,
        seed=int(time.time()),
        quick=True,
    )
    seen: list[WebObservation] = []
    with MachineLock(), Laboratory() as laboratory:
        header = RunHeader(
            schema=SCHEMA,
            iobound=__version__,
            created=time.time(),
            command=sys.argv,
            plan=plan,
            environment=describe(laboratory, plan, catalogue.find),
        )
        Session(plan, laboratory, catalogue.find, seen.append, certain, tell).run()
    ratios = judge(header, seen).ratios
    different = [ratio for ratio in ratios if ratio.verdict in {"faster", "slower"}]
    unranked = [ratio for ratio in ratios if ratio.verdict == "not-ranked"]
    for ratio in different:
        print(f"{ratio.comparison}: {ratio.ratio} {ratio.verdict}")
    print(f"called different: {len(different)} of {len(ratios) - len(unranked)} ({len(unranked)} not ranked)")
    trials = [one for one in seen if isinstance(one, Trial) and one.noise.quiet]
    noisy = sum(isinstance(one, Trial) and not one.noise.quiet for one in seen)
    print(f"blocks: {len(trials)} quiet, {noisy} disturbed and left out")
    print(f"throughput of a block, within a launch's connections: {spread(rates(trials)):.1%}")
    print(f"throughput, paired within a launch (A over A): {spread(pairs(trials)):.1%}")
    return len(different) > MOST * (len(ratios) - len(unranked))


def certain(seen: Sequence[WebObservation], plan: Plan) -> float:
    """Say that the launches of the plan are enough, however wide they leave the intervals."""
    return 0.0


def tell(what: str, share: float) -> None:
    print(f"{share:4.0%} {what}", file=sys.stderr, flush=True)


def rates(trials: Iterable[Trial]) -> Mapping[str, list[float]]:
    """Return the rates of successes of each comparison."""
    found: dict[str, list[float]] = defaultdict(list)
    for trial in trials:
        found[trial.comparison].append(trial.load.responses / trial.load.seconds)
    return found


def pairs(trials: Sequence[Trial]) -> Mapping[str, list[float]]:
    """Return the ratios of the two contenders of each comparison, one a launch."""
    by_place = {
        (one.comparison, one.launch, one.cell.rpartition("/")[2]): one.load.responses / one.load.seconds
        for one in trials
        if not one.control
    }
    found: dict[str, list[float]] = defaultdict(list)
    for (comparison, launch, which), rate in by_place.items():
        if which == "a" and (comparison, launch, "b") in by_place:
            found[comparison].append(by_place[comparison, launch, "b"] / rate)
    return found


def spread(groups: Mapping[str, Sequence[float]]) -> float:
    """Return the coefficient of variation within groups, their variances pooled."""
    variances = [statistics.variance(map(math.log, values)) for values in groups.values() if len(values) > 1]
    return math.sqrt(statistics.mean(variances)) if variances else math.nan


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or TARGETS))
