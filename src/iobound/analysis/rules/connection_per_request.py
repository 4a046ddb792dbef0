"""Servers that close the connection after every answer."""

from __future__ import annotations

from iobound.analysis.launches import Blocks
from iobound.analysis.results import Results
from iobound.analysis.words import listed
from iobound.records import Evidence, Finding

RULE = "connection-per-request"
EACH = 0.9  # connects a request


def judge(results: Results) -> Finding:
    """Count the connections that the generator had to make per request."""
    counted = [(cell, connects) for cell in results.own if (connects := _connects(results.blocks(cell))) is not None]
    if not counted:
        return Finding(rule=RULE, status="not-measured", statement="No connection was counted.")
    closing = [(cell, connects) for cell, connects in counted if connects >= EACH]
    if not closing:
        return Finding(rule=RULE, status="absent", statement="All servers keep their connections.")
    return Finding(
        rule=RULE,
        status="present",
        statement=f"A new connection for every request: {listed(list(dict.fromkeys(cell.target for cell, _ in closing)))} "
        "closed it after each answer.",
        evidence=[
            Evidence(what="connections made", observed=connects, threshold=EACH, unit="a request", cell=cell.id)
            for cell, connects in closing
        ],
        advice="Connecting costs both sides; behind a reverse proxy it costs less. Compare with servers that keep connections.",
    )


def _connects(blocks: Blocks) -> float | None:
    return blocks.per_request(lambda trial: trial.load.connects)
