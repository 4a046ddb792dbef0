"""Contenders that don't ask the same of the database."""

from __future__ import annotations

from iobound.analysis.demands import difference
from iobound.analysis.results import Results
from iobound.analysis.words import listed
from iobound.records import CellSummary, Evidence, Finding

RULE = "statements-differ"


def judge(results: Results) -> Finding:
    """Compare data statements and rows per request, as the service counted them, with those of the baseline."""
    pairs = [(cell, base) for cell, base in results.pairs() if cell.statements_per_request is not None]
    if not pairs:
        return Finding(rule=RULE, status="not-measured", statement="The statements of no two contenders were counted.")
    different = [(cell, why) for cell, base in pairs if (why := difference(results.blocks(cell), results.blocks(base)))]
    if not different:
        return Finding(rule=RULE, status="absent", statement="All contenders send the same statements and get the same rows.")
    return Finding(
        rule=RULE,
        status="present",
        statement=f"Not ranked, since they don't do the same work: {listed([f'{c.target} ({why})' for c, why in different])}.",
        evidence=[each for cell, _ in different for each in _evidence(cell, results.baseline(cell))],
        advice="Compare targets that send the same statements, or read the difference as one of work, not of speed.",
    )


def _evidence(cell: CellSummary, base: CellSummary | None) -> list[Evidence]:
    counts = {"data statements": "statements_per_request", "rows": "rows_per_request"}
    return [
        Evidence(
            what=f"{name} (threshold: the baseline's)",
            observed=getattr(cell, field),
            threshold=getattr(base, field, None),
            unit="a request",
            cell=cell.id,
        )
        for name, field in counts.items()
    ]
