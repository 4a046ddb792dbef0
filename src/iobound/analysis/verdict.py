"""The verdict: what was found, in a few plain sentences at the top of every report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from iobound.analysis.published import LOCUST, USERS, Pair, locust_ratio
from iobound.analysis.results import OWN, Results, program
from iobound.analysis.words import cells, estimated, figure, listed
from iobound.records import BoundBy, CellSummary, ClaimResult, Comparison, Holds, Ratio

BOUND: dict[BoundBy, str] = {
    "target-cpu": "{its} CPU",
    "workers": "{its} workers",
    "database-cpu": "the database's CPU",
    "database-locks": "locks in the database",
    "pool": "{its} connection pool",
    "network": "round trips",
    "concurrency": "the number of connections (nothing was saturated)",
    "generator": "the load generator",
    "errors": "errors",
    "noise": "noise",
    "unknown": "something unseen",
}
QUESTIONS = {
    "plain": "No I/O",
    "json": "No I/O, JSON",
    "file": "Reading a file",
    "sql-point": "One row from the database",
    "sql-list": "A list from the database",
    "sql-multi": "Several reads from the database",
    "sql-insert": "Inserting a row",
    "redis-get": "A key from the cache",
    "db-wait": "A database that waits",
    "mixed": "Reads and writes",
}
MOST = 6  # comparisons that the verdict tells of


def verdict(results: Results, claims: Sequence[ClaimResult]) -> str:
    """Return what the ranked comparisons and the claims say; what isn't valid or ranked is only counted, with the reason."""
    if not results.cells:
        return "Nothing was measured."
    told = [sentence for comparison in _told(results) for sentence in _comparison(comparison, results, claims)]
    if not results.valid:
        told = ["Nothing that was measured means anything."]
    elif not told:
        told = [f"{cells(len(results.valid)).capitalize()} measured, none of them a capacity found by iobound's own engine."]
    return "\n".join([*_conclusion(claims, results), *told, *_left_out(results)])


def _told(results: Results) -> list[Comparison]:
    """Choose the capacity comparisons that are told: of each experiment and workload the one nearest to ten connections."""
    plan = results.header.plan
    views = {cell.id: cell for cell in plan.cells}
    chosen: dict[tuple[str, str], Comparison] = {}
    for comparison in plan.comparisons:
        base = views[comparison.baseline]
        if base.view != "capacity" or base.engine != OWN:
            continue
        key = (base.experiment, str(base.workload))
        held = chosen.get(key)
        if held is None or abs(base.concurrency - USERS) < abs(views[held.baseline].concurrency - USERS):
            chosen[key] = comparison
    return list(chosen.values())[:MOST]


def _comparison(comparison: Comparison, results: Results, claims: Sequence[ClaimResult]) -> list[str]:
    summaries = {cell.id: cell for cell in results.valid if cell.comparison == comparison.id}
    base = summaries.get(comparison.baseline)
    ratios = [ratio for ratio in results.ratios if ratio.comparison == comparison.id and ratio.cell in summaries]
    if base is None:
        return []
    ties = [summaries[ratio.cell].target for ratio in ratios if ratio.verdict == "tie"]
    told = [
        *(_ratio(r, summaries[r.cell], base, results, claims) for r in ratios if r.verdict in {"faster", "slower"}),
        *([f"{listed(ties)} can't be told apart from {base.target}"] if ties else []),
        *(f"{summaries[r.cell].target} can't be ranked ({r.reason})" for r in ratios if r.verdict == "not-ranked"),
    ]
    if not told and base.requests_per_second is not None:
        at_least = "at least " if base.at_least else ""
        told = [f"{base.target} answers {at_least}{estimated(base.requests_per_second)} requests a second"]
    question = QUESTIONS.get(base.workload.partition(":")[0], base.workload)
    return [f"{question}: {'; '.join(told)}. {_bounds(list(summaries.values()))}"]


def _ratio(ratio: Ratio, cell: CellSummary, base: CellSummary, results: Results, claims: Sequence[ClaimResult]) -> str:
    assert ratio.ratio is not None
    sentence = f"{cell.target} answers {estimated(ratio.ratio, 'x')} as many requests as {base.target}"
    published = {
        claim.cell: claim.published for claim in claims if claim.unit == "requests/s" and claim.published and claim.cell
    }
    beside = []
    if cell.id in published and base.id in published:
        beside.append(f"published: {figure((published[cell.id] or 0) / (published[base.id] or 1))}x")
    said = locust_ratio(results, Pair(program(cell.target), program(base.target), cell.workload))
    if said is not None:
        locust = [results.find(program(c.target), c.workload, engine=LOCUST, concurrency=USERS) for c in (cell, base)]
        limited = any(each is not None and each.at_least for each in locust)
        beside.append(f"Locust would have said {figure(said)}x{', itself the limit' if limited else ''}")
    return f"{sentence} ({'; '.join(beside)})" if beside else sentence


def _bounds(told: Sequence[CellSummary]) -> str:
    """Say what bound the cells of a comparison, those with the same bound together."""
    by_bound: dict[BoundBy, list[str]] = {}
    for cell in told:
        if cell.bound_by:
            by_bound.setdefault(cell.bound_by, []).append(cell.target)
    if len(by_bound) == 1 and len(told) > 1:
        (bound,) = by_bound
        return f"{'Both' if len(told) == 2 else 'All'} {_were(bound, len(told))}."
    return " ".join(f"{listed(names)} {_were(bound, len(names))}." for bound, names in by_bound.items())


def _were(bound: BoundBy, count: int) -> str:
    return f"{'was' if count == 1 else 'were'} bound by {BOUND[bound].format(its='its own' if count == 1 else 'their own')}"


def _conclusion(claims: Sequence[ClaimResult], results: Results) -> list[str]:
    """Say how the published conclusions fare, and what bound most of the figures."""
    conclusions = [claim for claim in claims if claim.unit == "x" and claim.result != "not-measured"]
    if not conclusions:
        return []
    words: dict[Holds, tuple[str, str]] = {
        "holds": ("holds", "hold"),
        "holds-only-when": ("holds only under a condition", "hold only under a condition"),
        "fails": ("fails", "fail"),
    }
    counts = {result: sum(claim.result == result for claim in conclusions) for result in words}
    parts = [f"{count} {words[result][count != 1]}" for result, count in counts.items() if count]
    published = f"Of {len(conclusions)} published ratio{'s' * (len(conclusions) != 1)}, {listed(parts)} here"
    counted = Counter(cell.bound_by for cell in results.valid if cell.bound_by and cell.view == "capacity")
    if not counted:
        return [f"{published}."]
    [(bound, count)] = counted.most_common(1)
    limit = BOUND[bound].format(its="the target's own")
    return [f"{published}; {limit} bound {count} of {counted.total()} capacities."]


def _left_out(results: Results) -> list[str]:
    """Count what says nothing, by reason."""
    sentences = []
    invalid = [cell for cell in results.cells if not cell.valid]
    if invalid:
        reasons = list(dict.fromkeys(f"{cell.target}: {_first_line(cell.invalid_because)}" for cell in invalid))
        sentences.append(
            f"{cells(len(invalid)).capitalize()} {'is' if len(invalid) == 1 else 'are'} invalid ({listed(reasons, 2)})."
        )
    limited = [cell for cell in results.valid if cell.at_least]
    if limited:
        sentences.append(f'Limited by the load generator, and not ranked: {cells(len(limited))} that "at least" is said of.')
    return sentences


def _first_line(text: str | None) -> str:
    return (text or "").partition("\n")[0]
