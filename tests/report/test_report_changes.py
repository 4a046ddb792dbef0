from __future__ import annotations

import io

from report_builders import around
from rich.console import Console

from iobound.records import Change
from iobound.report import changes


def change(target: str, engine: str = "", ratio: float | None = 1.5, reason: str | None = None) -> Change:
    return Change(
        cell=f"web/plain/capacity/c10{engine}/{target}",
        target=target,
        workload="plain",
        view="capacity",
        metric="requests_per_second",
        ratio=around(ratio) if ratio else None,
        verdict="faster" if ratio else "not-ranked",
        reason=reason,
    )


def test_changes_stand_under_what_was_asked_with_their_names_whole() -> None:
    target = "fastapi-sync/uvicorn-uvloop/sqlalchemy-psycopg"
    found = [change(target), change("[b]"), change(target, "/locust:HttpUser", None, "bound by the generator in the first run")]
    text = io.StringIO()
    changes.render(found, ["python: 3.11, 3.12"], Console(file=text, width=100))
    lines = [line.rstrip() for line in text.getvalue().splitlines()]
    assert lines[0] == "Differs between the runs: python: 3.11, 3.12"
    assert "web/plain/capacity/c10: requests/s" in lines
    assert f"  {target}  1.50x [1.46, 1.54] faster" in lines
    assert any(line.startswith("  [b] ") for line in lines)
    assert "web/plain/capacity/c10/locust:HttpUser: requests/s" in lines
    assert any("not ranked: bound by the generator" in line for line in lines)
