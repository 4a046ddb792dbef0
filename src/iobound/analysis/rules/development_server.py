"""Targets that ran on a development server or in debug mode, which their own documentation advises against in production."""

from __future__ import annotations

from iobound.analysis.results import Results
from iobound.analysis.words import listed
from iobound.records import CellSummary, Finding

RULE = "development-server"
DEBUGGING = {"true", "1", "yes", "on"}


def judge(results: Results) -> Finding:
    """Name targets whose process says that it is Werkzeug's server or that it debugs."""
    labelled = [cell for cell in results.cells if cell.ran]
    if not labelled:
        return Finding(rule=RULE, status="not-measured", statement="No target said what it runs on.")
    found = {cell.target: why for cell in labelled if (why := _development(cell))}
    if not found:
        return Finding(
            rule=RULE, status="absent", statement="No target says that it is in debug mode or on a development server."
        )
    return Finding(
        rule=RULE,
        status="present",
        statement=f"Not as in production: {listed([f'{target} ({why})' for target, why in found.items()])}.",
        advice="Compare servers meant for production too, e.g. flask/gunicorn-gthread and starlette/uvicorn-uvloop.",
    )


def _development(cell: CellSummary) -> str | None:
    if "werkzeug" in cell.ran.get("server", "").lower():
        return "a development server, Werkzeug's"
    return "debug mode" if cell.ran.get("debug", "").lower() in DEBUGGING else None
