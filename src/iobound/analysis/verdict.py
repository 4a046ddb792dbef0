"""The verdict at the top of every report: the conclusion in one line, then a line for each comparison."""

from __future__ import annotations

from collections.abc import Sequence

from iobound.analysis.published import LOCUST, USERS
from iobound.analysis.results import OWN, Results
from iobound.analysis.words import bound_by, cells, estimated, listed, span
from iobound.records import BoundBy, CellSummary, ClaimResult, Comparison, Interval

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
PUBLISHED = "-as-published"  # said once a line, not after each name
PAIRS = 3  # pairs of targets that one line can sum up


def verdict(results: Results, claims: Sequence[ClaimResult]) -> str:
    """Return the conclusion, and on a line each what the comparisons say and what couldn't be told, with the reason."""
    if not results.cells:
        return "Nothing was measured."
    chosen = _told(results)
    told = [line for comparison in chosen for line in _comparison(comparison, results)]
    if not results.valid:
        told = ["Nothing that was measured means anything."]
    elif not told:
        told = [f"{cells(len(results.valid)).capitalize()} measured, none of them a capacity found by iobound's own engine."]
    else:
        told = [*_conclusion(chosen, claims, results), *told]
    return "\n".join([*told, *_locust(claims, results), *_left_out(results)])


def _told(results: Results) -> list[Comparison]:
    """Choose the capacity comparisons that are told: of each experiment and what is asked the one nearest to ten."""
    plan = results.header.plan
    views = {cell.id: cell for cell in plan.cells}
    chosen: dict[tuple[str, str, float], Comparison] = {}
    for comparison in plan.comparisons:
        base = views[comparison.baseline]
        if base.view != "capacity" or base.engine != OWN:
            continue
        key = (base.experiment, str(base.workload), base.rtt_ms)
        held = chosen.get(key)
        if held is None or abs(base.concurrency - USERS) < abs(views[held.baseline].concurrency - USERS):
            chosen[key] = comparison
    return list(chosen.values())[:MOST]


def _conclusion(told: Sequence[Comparison], claims: Sequence[ClaimResult], results: Results) -> list[str]:
    """Answer the published ratios, and sum up the other experiments; or sum up each pair of targets over its workloads."""
    answers = _answers(claims)
    claimed = {cell.experiment for claim in claims for cell in results.cells if cell.id == claim.cell}
    summed: dict[str, list[Interval]] = {}
    for comparison in told:
        for contender, ratio in _ranked(comparison, results):
            if answers and contender.experiment not in claimed:
                summed.setdefault(comparison.question.capitalize(), []).append(ratio)
            elif not answers and len(told) > 1:
                base = results.baseline(contender)
                summed.setdefault(f"{contender.target} against {base.target if base else ''}", []).append(ratio)
    if not answers and len(summed) > PAIRS:
        return []
    line = " ".join([*answers, *(f"{what}: {span(ratios)}." for what, ratios in summed.items())])
    return [line] if line else []


def _answers(claims: Sequence[ClaimResult]) -> list[str]:
    """Answer each published "so many times faster" with what its pairs are here."""
    here: dict[str, list[Interval]] = {}
    for claim in sorted(claims, key=lambda claim: claim.published or 0):
        if claim.unit == "x" and claim.result:
            here.setdefault(claim.statement.partition(":")[0], []).extend([claim.here] if claim.here else [])
    pairs = {said: f" ({len(ratios)} pairs)" if len(ratios) > 1 else "" for said, ratios in here.items()}
    return [f"“{said}”? {f'Here {span(ratios)}{pairs[said]}' if ratios else 'Not told here'}." for said, ratios in here.items()]


def _ranked(comparison: Comparison, results: Results) -> list[tuple[CellSummary, Interval]]:
    """Return the contenders of a comparison that may be ranked against its baseline, each with its ratio."""
    found = []
    for cell in results.valid:
        ratio = results.ratio(cell) if cell.comparison == comparison.id else None
        if ratio is not None and ratio.ratio is not None and ratio.verdict != "not-ranked":
            found.append((cell, ratio.ratio))
    return found


def _comparison(comparison: Comparison, results: Results) -> list[str]:
    summaries = {cell.id: cell for cell in results.valid if cell.comparison == comparison.id}
    base = summaries.get(comparison.baseline)
    if base is None:
        return []
    ratios = [ratio for ratio in results.ratios if ratio.comparison == comparison.id and ratio.cell in summaries]
    apart = [
        f"{_short(summaries[ratio.cell])} {estimated(ratio.ratio, 'x')}"
        for ratio in ratios
        if ratio.verdict in {"faster", "slower"} and ratio.ratio
    ]
    ties = [_short(summaries[ratio.cell]) for ratio in ratios if ratio.verdict == "tie"]
    unranked: dict[str, list[str]] = {}
    for ratio in ratios:
        if ratio.verdict == "not-ranked":
            unranked.setdefault(ratio.reason or "", []).append(_short(summaries[ratio.cell]))
    told = [
        *([f"{listed(apart)} as many requests as {_short(base)}"] if apart else []),
        *([f"{listed(ties)} can't be told apart from {_short(base)}"] if ties else []),
        *(f"{listed(names)} can't be ranked ({reason})" for reason, names in unranked.items()),
    ]
    if not told and base.requests_per_second is not None:
        at_least = "at least " if base.at_least else ""
        told = [f"{_short(base)} answers {at_least}{estimated(base.requests_per_second)} requests a second"]
    question = QUESTIONS.get(base.workload.partition(":")[0], base.workload)
    published = ", as published" if PUBLISHED in base.target else ""
    over = f" over {base.rtt_ms:g} ms" if base.rtt_ms else ""
    return [f"{question}{over}{published}: {'; '.join([*told, *_bounds(list(summaries.values()))])}."]


def _short(cell: CellSummary) -> str:
    return cell.target.replace(PUBLISHED, "")


def _bounds(told: Sequence[CellSummary]) -> list[str]:
    """Say what bound the cells of a comparison, those with the same bound together."""
    by_bound: dict[BoundBy, list[str]] = {}
    for cell in told:
        if cell.bound_by:
            by_bound.setdefault(cell.bound_by, []).append(_short(cell))
    bound = {value: bound_by(value, len(names)) for value, names in by_bound.items()}
    if len(by_bound) == 1:
        all_of_them = {1: "", 2: "both "}.get(len(told), "all ")
        return [f"{all_of_them}{words}" for words in bound.values()]
    return [f"{listed(names)} {bound[value]}" for value, names in by_bound.items()]


def _locust(claims: Sequence[ClaimResult], results: Results) -> list[str]:
    """Say which ratios Locust, as published, would have given of the same programs, and how often it was itself the limit."""
    said = [claim.here for claim in claims if claim.unit == "x" and claim.result is None and claim.here]
    if not said:
        return []
    figures = [cell for cell in results.valid if cell.engine == LOCUST]
    limited = sum(cell.at_least for cell in figures)
    limits = f"; it was itself the limit of {limited} of its {len(figures)} figures" if limited else ""
    return [f"Locust, as published, would have said {span(said)} of those{limits}."]


def _left_out(results: Results) -> list[str]:
    """Count what says nothing, by reason."""
    sentences = []
    invalid = [cell for cell in results.cells if not cell.valid]
    if invalid:
        by_reason: dict[str, list[str]] = {}
        for cell in invalid:
            by_reason.setdefault((cell.invalid_because or "").partition("\n")[0], []).append(cell.target)
        reasons = [f"{listed(list(dict.fromkeys(names)), 2)}: {reason}" for reason, names in by_reason.items()]
        counted = f"{cells(len(invalid)).capitalize()} {'is' if len(invalid) == 1 else 'are'} invalid"
        sentences.append(f"{counted} ({listed(reasons, 2)}).")
    limited = [cell for cell in results.own if cell.at_least]
    if limited:
        sentences.append(f'Limited by the load generator, so "at least" and not ranked: {cells(len(limited))}.')
    return sentences
