"""What people complain of in published suites, constructed on real servers: none of it gets by.

The rest of it is tested elsewhere: the client that was the limit and error pages taken for successes in
`test_bound_by_measured`, disordered percentiles in `analysis/test_analysis_laws`, two runs that differ in `cli/test_compare`,
what a pool's size is worth in `test_tuning_measured`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from iobound.analysis.judging import judge
from iobound.lab.catalogue import FOLDER, Catalogue
from iobound.lab.laboratory import Laboratory
from iobound.planning import SideBySide
from iobound.records import SCHEMA, Environment, Noise, Observation, Plan, RunHeader, Trial, Workload

QUIET = Noise(steal=0, foreign=0, pressure=None, quiet=True, because=None)
Measure = Callable[..., list[Observation]]


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    """The catalogue, with a gunicorn that isn't what it is called, and a store that reads all rows of a request at once."""
    for folder in ("servers", "stores"):
        (tmp_path / folder).mkdir()
    gevent = (FOLDER / "servers" / "gunicorn-gevent.py").read_text()
    (tmp_path / "servers" / "gunicorn-realistic.py").write_text(gevent.replace('model = "gevent"', 'model = "threads"'))
    psycopg = (FOLDER / "stores" / "psycopg.py").read_text()
    start = psycopg.index("    def multi(")
    batched = (
        "    def multi(self, numbers):\n"
        "        with self.pool.connection() as connection:\n"
        '            sql = "SELECT id, name, quantity FROM item WHERE id = ANY(%s)"\n'
        '            found = {row["id"]: row for row in connection.execute(sql, [numbers])}\n'
        "            return [found[number] for number in numbers]\n\n"
    )
    (tmp_path / "stores" / "psycopg-batched.py").write_text(
        psycopg[:start] + batched + psycopg[psycopg.index("    def insert(") :]
    )
    return Catalogue(FOLDER, tmp_path)


def test_a_concurrency_model_is_read_from_the_process_not_from_its_label(catalogue: Catalogue):
    target = catalogue.find("flask/gunicorn-realistic")
    assert target.model == "threads"
    with target.launch({}, []) as running:
        ran = running.ran()
    assert (ran["worker"], ran["patched"]) == ("GeventWorker", "True")


def test_one_that_batches_its_queries_is_not_ranked_against_one_that_does_not(
    catalogue: Catalogue, measure: Measure, laboratory: Laboratory
):
    targets = [catalogue.find(f"flask/gunicorn-gthread/{store}") for store in ("psycopg", "psycopg-batched")]
    asked = SideBySide("test", "", targets, Workload(name="sql-multi", reads=20)).capacity(4, control=False)
    # Counts are what they are on a machine that is disturbed, too.
    seen = [replace(one, noise=QUIET) if isinstance(one, Trial) else one for one in measure(asked, *targets, launches=2)]
    judgement = judge(header(asked.comparisons, asked.cells, laboratory), seen)
    statements = {cell.target: cell.statements_per_request for cell in judgement.cells}
    assert statements[targets[0].name] == pytest.approx(20, rel=0.1)
    assert statements[targets[1].name] == pytest.approx(1, rel=0.1)
    (ratio,) = judgement.ratios
    assert ratio.verdict == "not-ranked"
    assert ratio.reason is not None
    assert "statements" in ratio.reason


def header(comparisons: Sequence[object], cells: Sequence[object], laboratory: Laboratory) -> RunHeader:
    """The head of a run of these comparisons, in this laboratory."""
    plan = Plan(
        experiments=["test"], cells=list(cells), comparisons=list(comparisons), launches=2, blocks_per_launch=1, block_s=0.3,
        warmup_s=0, budget_s=600, precision=1, seed=0, quick=True,
    )  # fmt: skip
    placement = laboratory.placement
    environment = Environment(
        host={}, cores=placement.cores, target_cores=placement.target, other_cores=placement.generator, shared_cores=None,
        services=[], packages={}, ceilings=[],
    )  # fmt: skip
    return RunHeader(schema=SCHEMA, iobound="test", created=0.0, command=[], plan=plan, environment=environment)
