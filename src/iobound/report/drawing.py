"""Drawing charts as inline SVG, each with its data as a table.

Colours are CSS variables, so that a chart follows the page into the dark.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import vl_convert
from markupsafe import Markup

from iobound.records import BoundBy

# Figures are drawn small, so that they can still be read when a phone shows them smaller. Widths of plots in px:
FULL = 390
HALF = 158
TALL = 110  # px: height of a plot

Row = dict[str, Any]
Plot = Any  # what altair's `encode`, `+` and `concat` return is typed so loosely


@dataclass(frozen=True)
class Table:
    """The data of a chart, as text."""

    columns: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class Figure:
    """One chart with its data. `bounds` are what bound the figures in it.

    `suspect` names the cells that say little about their target, `missing` those that aren't drawn, both with the reason.
    """

    title: str
    reading: str
    svg: Markup
    table: Table
    bounds: Sequence[BoundBy] = ()
    suspect: Sequence[str] = ()
    missing: Sequence[str] = ()


class Canvas:
    """The rows that the parts of one chart refer to by name, so that the chart is built without copying them."""

    def __init__(self) -> None:
        self._data: dict[str, list[Row]] = {}

    def chart(self, rows: Sequence[Row]) -> Plot:
        """Start a chart of `rows`."""
        name = f"rows{len(self._data)}"
        self._data[name] = list(rows)
        return alt.Chart(alt.NamedData(name=name))

    def svg(self, chart: Plot) -> Markup:
        """Render to SVG that fits its container, without what an inline picture doesn't need."""
        spec = {**chart.to_dict(validate=False), "datasets": self._data, "config": _THEME}
        text = vl_convert.vegalite_to_svg(spec)
        width, height = re.findall(r'\b(?:width|height)="([\d.]+)"', text[: text.index(">")])
        text = re.sub(r"<svg[^>]*>", f'<svg viewBox="0 0 {width} {height}" aria-hidden="true">', text, count=1)
        text = re.sub(r' (?:aria-(?:label|roledescription)|role|pointer-events|class|stroke-miterlimit)="[^"]*"', "", text)
        text = re.sub(r'<path(?: aria-hidden="true")? d="(?:M0,0h0v0h0Z)?"[^>]*?(?:/>|></path>)', "", text)
        return Markup(re.sub(r"<[^>]+>", lambda tag: re.sub(r"(\.\d)\d+", r"\1", tag[0]), text))


def side_by_side(plots: list[Plot], height: int = TALL) -> Plot:
    """Put plots into two columns, with the same scales."""
    sized = [plot.properties(width=HALF, height=height) for plot in plots]
    return alt.concat(*sized, columns=2, spacing={"column": 18, "row": 16}).resolve_scale(x="shared", y="shared")


_THEME = {
    "background": None,
    "font": "Helvetica, Arial, sans-serif",
    "padding": 2,
    "view": {"stroke": None},
    "axis": {
        "labelColor": "var(--muted)",
        "titleColor": "var(--muted)",
        "titleFontWeight": "normal",
        "titleFontSize": 11,
        "labelFontSize": 11,
        "gridColor": "var(--line)",
        "domainColor": "var(--axis)",
        "tickColor": "var(--axis)",
        "tickSize": 4,
        "labelFlush": False,
        "labelOverlap": "greedy",
        "labelSeparation": 4,
    },
    "legend": {"labelColor": "var(--ink)", "labelFontSize": 11, "symbolSize": 80, "symbolStrokeWidth": 0},
    "line": {"strokeWidth": 1.8, "strokeJoin": "round"},
    "title": {
        "color": "var(--ink)",
        "fontSize": 11,
        "fontWeight": "bold",
        "anchor": "start",
        "frame": "group",
        "subtitleFontSize": 11,
        "subtitlePadding": 2,
        "offset": 6,
        "limit": HALF + 30,
    },
}
