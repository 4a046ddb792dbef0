"""Which model loads fastest over how many connections, what limits each, and what was published of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from iobound.analysis import statistics
from iobound.analysis.loads import STARVED, UNRANKED, Loads, control, name, summarise
from iobound.analysis.loads_published import claims
from iobound.analysis.sampled import Judged, Sampled
from iobound.analysis.words import bound_by, cells, estimated, figure, listed
from iobound.records import BulkCell, BulkSample, BulkSummary, Evidence, Finding, Interval, Observation, Rounds, RunHeader

COARSE = 0.25  # of the rate: a control as far apart says that differences below can't be told
UNFAIR = 0.5  # the least that a worker loaded over the most
LINES_A_WORKER = 3  # with fewer, which worker takes the last line decides

Rows = Sequence[BulkSummary]


def judge(header: RunHeader, rounds: Rounds, observations: Sequence[Observation]) -> Judged:
    """Say how many rows a second each cell loaded, against what, and what bound it."""
    sampled = Sampled.of(header, rounds, observations, BulkCell, BulkSample)
    found = summarise(sampled)
    return Judged(
        verdict=_verdict(sampled, found),
        summaries=found,
        findings=[
            _control(sampled),
            _starved(found),
            _published_feeder(found),
            _unfair(found),
            _retried(found),
            _bad_lines(found),
        ],
        claims=claims(sampled, found),
    )


# --- the verdict ----------------------------------------------------------------------------------------------------


def _verdict(sampled: Loads, found: Rows) -> str:
    values = [each for each in found if each.phase == "data" and each.valid]
    ranked = [each for each in values if each.bound_by not in UNRANKED]
    references = {each.relative_to for each in ranked}
    heads = [each for each in ranked if each.id in references or each.relative_to is None]
    lines = [*(_sentence(head, ranked, sampled) for head in heads), *_unranked([each for each in values if each not in ranked])]
    return "\n".join(lines) or "No bulk load was measured."


def _unranked(values: Rows) -> Iterator[str]:
    """Say what was loaded where that isn't the model's own speed, by the reason."""
    for because in dict.fromkeys(each.bound_because for each in values):
        rates = [f"{name(each)} {_rate(each)} over {each.connections}" for each in values if each.bound_because == because]
        yield f"Not ranked, since {because}: {listed(rates, len(rates))} connections."


def _rate(each: BulkSummary) -> str:
    return f"{figure(each.rows_per_second.estimate)} rows/s" if each.rows_per_second else "nothing"


def _sentence(head: BulkSummary, values: Rows, sampled: Loads) -> str:
    """Say what a cell loads, and what those that are held against it load beside it."""
    over = f"{head.connections} connection{'s' * (head.connections != 1)}"
    limit = f", {bound_by(head.bound_by)}" if head.bound_by else ""
    parts = [f"Over {over}, {name(head)} loaded {_rate(head)}{limit}"]
    least = _detectable(sampled)
    compared = [(each, each.relative) for each in values if each.relative and each.relative_to == head.id]
    compared.sort(key=lambda pair: -pair[1].estimate)
    apart = [f"{name(each)} {estimated(ratio, 'x')}" for each, ratio in compared if ratio.low and not _is_tie(ratio, least)]
    if apart:
        parts.append(f"against it {listed(apart, len(apart))}")
    if once := [f"{name(each)} {estimated(ratio, 'x')}" for each, ratio in compared if ratio.low is None]:
        parts.append(f"in one launch each, which decides nothing, {listed(once, len(once))}")
    if alike := [name(each) for each, ratio in compared if _is_tie(ratio, least)]:
        parts.append(f"a tie with {listed(alike, len(alike))}")
    return "; ".join(parts) + "."


def _is_tie(ratio: Interval, least: float | None) -> bool:
    """Tell whether a ratio can't be told from 1; one launch can't tell that either way."""
    if ratio.low is None or ratio.high is None:
        return False
    size = max(ratio.estimate, 1 / ratio.estimate) - 1
    return ratio.low <= 1 <= ratio.high or (least is not None and size < least)


def _detectable(sampled: Loads) -> float | None:
    compared = control(sampled, "data")
    return statistics.detectable(compared) if compared else None


# --- findings -------------------------------------------------------------------------------------------------------


def _control(sampled: Loads) -> Finding:
    compared, least = control(sampled, "data"), _detectable(sampled)
    if compared is None or least is None:
        return Finding(rule="bulk-control", status="not-measured", statement="The baseline was launched too seldom to tell.")
    return Finding(
        rule="bulk-control",
        status="present" if least > COARSE else "absent",
        statement=f"A against A, the baseline loaded {estimated(compared.interval(), 'x')} of itself: smaller differences than "
        f"{least:.0%} can't be told here.",
        evidence=[Evidence(what="smallest effect", observed=least, threshold=COARSE, unit="", cell=sampled.baseline)],
        advice="Measure more launches (--budget), more lines, or on a quieter machine." if least > COARSE else None,
    )


def _starved(found: Rows) -> Finding:
    of = [each for each in found if each.idle_share is not None]
    starved = [each for each in of if (each.idle_share or 0.0) >= STARVED]
    return Finding(
        rule="bulk-feeder-limits",
        status="present" if starved else "absent" if of else "not-measured",
        statement=f"The workers waited for lines in {cells(len(starved))}: the feeder sets their rate."
        if starved
        else "The workers had lines to load all the time.",
        evidence=[
            Evidence(what="time the queue was empty", observed=each.idle_share, threshold=STARVED, unit="", cell=each.id)
            for each in starved
        ],
        advice="Load fewer lines, so that they are preloaded." if starved else None,
    )


def _published_feeder(found: Rows) -> Finding:
    """Say what the published feeder costs, and how far its rate, of a window over both phases, is from rows over time."""
    of = [each for each in found if each.feeder == "published" and each.phase == "data" and each.rows_per_second]
    if not of:
        return Finding(rule="bulk-published-feeder", status="not-measured", statement="It takes --feeder preloaded,published.")
    told, evidence = [], []
    for each in of:
        said = [f"{estimated(each.relative, 'x')} of {each.relative_to}"] if each.relative else []
        if each.window_rows_per_second and each.rows_per_second:
            window, rate = each.window_rows_per_second.estimate, each.rows_per_second.estimate
            said.append(f"its own window says {figure(window)} rows/s where {figure(rate)} were loaded")
            evidence.append(Evidence(what="rate of its window", observed=window, threshold=rate, unit="rows/s", cell=each.id))
        told.append(f"{name(each)}: {', '.join(said)}")
    return Finding(
        rule="bulk-published-feeder",
        status="present",
        statement=f"The published feeder waits busily among the workers; {'; '.join(told)}.",
        evidence=evidence,
        advice="Preload, or stream through a queue that workers wait for.",
    )


def _unfair(found: Rows) -> Finding:
    of = [
        each
        for each in found
        if each.phase == "data" and each.fairness is not None and each.lines >= LINES_A_WORKER * each.connections
    ]
    unfair = [each for each in of if (each.fairness or 0.0) < UNFAIR]
    return Finding(
        rule="bulk-unfair",
        status="present" if unfair else "absent" if of else "not-measured",
        statement=f"Some workers loaded less than half of what others did: {listed([name(each) for each in unfair])}."
        if unfair
        else "All workers loaded about as much."
        if of
        else f"It takes at least {LINES_A_WORKER} lines for each connection.",
        evidence=[
            Evidence(what="least over most rows of a worker", observed=each.fairness, threshold=UNFAIR, unit="", cell=each.id)
            for each in unfair
        ],
    )


def _retried(found: Rows) -> Finding:
    retried = [each for each in found if each.retried]
    return Finding(
        rule="bulk-retried",
        status="present" if retried else "absent",
        statement=f"Lines were loaded again over a new connection in {cells(len(retried))}; all rows are there once."
        if retried
        else "No line had to be loaded again.",
        evidence=[
            Evidence(what="lines loaded again", observed=each.retried, threshold=0, unit="lines", cell=each.id)
            for each in retried
        ],
    )


def _bad_lines(found: Rows) -> Finding:
    bad = next((each.bad_lines for each in found if each.bad_lines), [])
    return Finding(
        rule="bulk-bad-lines",
        status="present" if bad else "absent",
        statement=f"Lines of the data were left out: {'; '.join(bad)}." if bad else "No line of the data was left out.",
        advice="Mend the file; without --bad-lines report it is refused." if bad else None,
    )
