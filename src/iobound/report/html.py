"""The report as one HTML file: offline, without scripts, for the screen (light and dark, wide and narrow) and for paper."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any, Literal

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from iobound.records import Judgement, RunHeader, View
from iobound.report import charts, groups, outline, words

LIMIT = 1_950_000
"""Bytes of the file, which is to be mailed and attached."""

PIECES: dict[charts.Kind | Literal["details"], str] = {
    "details": "further figures",
    "throughput": "throughput",
    "cpu": "CPU a request",
    "latency": "latency percentiles",
    "progress": "time series",
}
"""What each group of cells is shown with beside its results, the most telling first."""


def render(header: RunHeader, judgement: Judgement, run: str | PurePath) -> str:
    """Return the report of a run, whose folder is called `run`, as one HTML document of less than 2 MB.

    Where a run is too large for that, the least telling is left out and named: first time series, then latency curves,
    CPU, throughput, and the tables of further figures.
    """
    environment = Environment(
        loader=PackageLoader("iobound.report"), autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    environment.globals["words"] = words
    environment.filters["breakable"] = lambda name: Markup("/<wbr>").join(name.split("/"))
    environment.filters["unbroken"] = lambda interval: interval.replace(", ", ",\u00a0")
    parts: Any = environment.get_template("parts.html").module
    shown = groups.group(judgement, header.plan)
    scripted = [(section, section.figures()) for section in outline.sections(header, judgement)]
    pieces: dict[tuple[tuple[str, str], View, str], Markup] = {}
    left_out: dict[str, dict[str, None]] = {}

    def page() -> str:
        return environment.get_template("report.html").render(
            header=header,
            plan=header.plan,
            lab=header.environment,
            judgement=judgement,
            run=str(run),
            groups=shown,
            published=groups.published(judgement),
            cells={cell.id: cell for cell in judgement.cells},
            planned={cell.id: cell for cell in header.plan.cells},
            against=lambda cell: groups.against(cell, header.plan, judgement),
            endings=groups.endings(judgement),
            pieces=pieces,
            left_out=left_out,
            sections=scripted,
        )

    def piece(kind: charts.Kind | Literal["details"], group: groups.Group, view: View) -> Markup:
        if kind == "details":
            return Markup(parts.details(group, view))
        figure = charts.draw(kind, group, view)
        return Markup(parts.figure(figure)) if figure else Markup()

    room = LIMIT - len(page().encode())
    for kind, name in PIECES.items():
        for group in shown:
            for view in group.views:
                made = piece(kind, group, view) if room > 0 else Markup()
                room -= len(made.encode())
                if room > 0:
                    pieces[group.key, view, kind] = made
                else:
                    left_out.setdefault(name, {})[group.title] = None
    return page()
