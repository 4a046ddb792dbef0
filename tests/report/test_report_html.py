from __future__ import annotations

import json
import re
from collections.abc import Callable
from html import escape
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import msgspec
import pytest
from report_builders import HOSTILE, QUESTIONS, header, judgement, plan, summary, tour_cells

from iobound.records import Failure, Finding, Judgement, RunHeader
from iobound.report import html, words

MAX_BYTES = 2_000_000
VOID = {"meta", "br", "wbr", "col"}


class Page(HTMLParser):
    """What a reader without JavaScript gets: elements with their attributes, tables as text, and whether it is well nested."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.tables: list[list[list[str]]] = []
        self.figures: list[set[str]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self._open.append(tag)
        if tag == "figure":
            self.figures.append(set())
        if "figure" in self._open:
            self.figures[-1].add(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in {"td", "th"}:
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self._open:
            return
        self.text += data
        if "table" in self._open and self._open[-1] not in {"table", "thead", "tbody", "tr"} and self.tables[-1]:
            self.tables[-1][-1][-1] += data

    def named(self, *header: str) -> list[list[list[str]]]:
        """Return the tables whose first row begins with `header`."""
        return [table for table in self.tables if table[0][: len(header)] == list(header)]


def render(**changes: Any) -> str:
    """Render a page of the tour's first cells with some fields of the judgement changed."""
    cells = tour_cells()[:6]
    made = plan(cells, QUESTIONS)
    return html.render(header(made), msgspec.structs.replace(judgement_of(cells), **changes), "run")


def judgement_of(cells: list[Any]) -> Judgement:
    """A judgement of cells, without claims."""
    return msgspec.structs.replace(
        judgement(tour_cells(), plan(tour_cells(), QUESTIONS)), cells=cells, claims=[], not_measured=[]
    )


def test_is_one_small_file_without_scripts_or_references(page: str) -> None:
    assert len(page.encode()) < MAX_BYTES
    read = Page(page)
    assert not {"script", "link", "img", "iframe", "object", "embed"} & {tag for tag, _ in read.elements}
    for _, attributes in read.elements:
        assert not any(name.startswith("on") for name in attributes)
        for name in ("src", "href", "xlink:href", "action", "srcset"):
            assert (attributes.get(name) or "#").startswith("#")
    assert not re.search(r"@import|url\(|https?:", page)


def test_links_lead_somewhere(page: str) -> None:
    elements = Page(page).elements
    ids = [attributes["id"] for _, attributes in elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = {attributes["href"] for tag, attributes in elements if tag == "a"}
    assert {f"#{id_}" for id_ in ids} >= targets


def test_says_the_verdict_first_then_results_claims_findings_and_charts(page: str) -> None:
    sections = [attributes["id"] for tag, attributes in Page(page).elements if tag == "section" and "id" in attributes]
    order = ("verdict", "results", "published", "findings", "charts", "not-measured", "environment", "method", "glossary")
    assert [section for section in sections if section in order] == list(order)
    assert page.index("The published advantage") < page.index('id="results"')


def test_shows_every_cell_with_what_bound_it(page: str, judged: tuple[RunHeader, Judgement]) -> None:
    rows = [row for table in Page(page).named("target", "conn.") for row in table[2:]]
    assert len(rows) == len(judged[1].cells)
    for row, cell in zip(sorted(rows, key=lambda row: row[0]), sorted(judged[1].cells, key=lambda c: c.target), strict=True):
        assert row[0].startswith(cell.target)
        assert any(row[-1].startswith(bound.label) for bound in words.BOUNDS.values())


def test_strikes_invalid_cells_and_gives_them_no_rank(page: str) -> None:
    row = next(row for row in re.findall(r"<tr.*?</tr>", page, re.DOTALL) if "starlette-sql-post" in row and "<s>" in row)
    assert "<s>640</s> invalid" in row
    assert "not ranked" in row
    assert "invalid: every request was answered 500" in row
    charted = [row for table in Page(page).named("target", "connections", "requests/s [95 % interval]") for row in table]
    assert ["starlette-sql-post-as-published", "10", "invalid", "errors"] in charted


def test_reads_at_least_where_the_generator_was_the_limit(page: str) -> None:
    rows = [row for table in Page(page).named("target", "conn.") for row in table if "by Locust" in row[0]]
    assert [row[2] for row in rows] == ["at least 702", "at least 1,050", "at least 741"]


def test_puts_what_the_publications_load_tool_says_beside_each_published_figure_and_ratio(page: str) -> None:
    (figures,) = Page(page).named("program")
    assert figures[2] == ["starlette-as-published", "1,539/s", "at least 741", "4,100 [3,977,\xa04,223]", "2.66x", "target CPU"]
    (ratios,) = Page(page).named("ratio")
    assert ratios[1][1:4] == ["3x", "1.06x*", "2.97x [2.88,\xa03.06]"]
    assert ratios[1][4].startswith("holds")


def test_every_chart_has_its_data_as_a_table_that_says_what_bound_it(page: str) -> None:
    read = Page(page)
    assert len(read.figures) == 4 * 7 + 4
    assert all({"svg", "details", "table"} <= figure for figure in read.figures)
    labels = {bound.label for bound in words.BOUNDS.values()}
    for table in [*read.named("percentile"), *read.named("second")]:
        assert all(column.rpartition(": ")[2] in labels for column in table[0][1:])
        assert len({len(row) for row in table}) == 1


def test_shades_charts_of_suspect_cells(page: str) -> None:
    figures = re.findall(r"<figure.*?</figure>", page, re.DOTALL)
    for figure in figures:
        suspect = "by Locust" in figure or "noise" in figure
        assert figure.startswith('<figure class="suspect">') == suspect
        assert ("Suspect: " in figure) == suspect


def test_takes_hostile_text_as_text() -> None:
    cells = [
        summary(HOSTILE, 100.0, engine=HOSTILE, settings={HOSTILE: HOSTILE}, because=HOSTILE),
        summary(f"{HOSTILE}2", 90.0, engine=HOSTILE, invalid_because=HOSTILE),
    ]
    made = plan(cells, {"web/sql-list": HOSTILE})
    base = judgement(tour_cells(), plan(tour_cells(), QUESTIONS))
    said = Judgement(
        verdict=HOSTILE,
        cells=cells,
        ratios=[],
        controls=[],
        findings=[Finding(rule=HOSTILE, status="present", statement=HOSTILE, advice=HOSTILE)],
        claims=[msgspec.structs.replace(claim, statement=HOSTILE, because=HOSTILE, cell=HOSTILE) for claim in base.claims],
        not_measured=[Failure(cell=HOSTILE, comparison=HOSTILE, launch=0, stage="start", reason=HOSTILE)],
        endings=base.endings,
    )
    of = header(made)
    lab = msgspec.structs.replace(of.environment, host={HOSTILE: HOSTILE}, packages={HOSTILE: {HOSTILE: HOSTILE}})
    text = html.render(msgspec.structs.replace(of, environment=lab, command=[HOSTILE]), said, HOSTILE)
    assert "<script" not in text
    read = Page(text)
    assert read.text.count("<script>") > 30
    assert {tag for tag, _ in read.elements} <= {tag for tag, _ in Page(html.render(of, said, "")).elements}


def test_shows_what_is_absent_as_a_dash() -> None:
    bare = summary("bare", 100.0, bound_by=None, service=None)
    nothing = (
        "requests_per_second",
        "latency_ms",
        "cpu_us_per_request",
        "wait_us_per_request",
        "in_flight",
        "percentile_curve",
    )
    cells = [msgspec.structs.replace(bare, **dict.fromkeys((*nothing, "progress", "target_utilisation")))]
    made = plan(cells, {})
    read = Page(html.render(header(made), judgement_of(cells), "run"))
    row = read.named("target", "conn.")[0][2]
    assert row[2:9] == ["–", "baseline", "–", "–", "–", "–", "–"]
    assert row[9].startswith("not known")
    assert "None" not in read.text
    assert not read.figures


def test_says_so_where_nothing_was_measured() -> None:
    text = Page(render(cells=[], findings=[], endings=[], ratios=[], controls=[])).text
    assert "Nothing was measured." in text
    assert "Everything that was planned was measured." in text


def test_numbers_from_one_launch_have_no_interval() -> None:
    cell = summary("single", 100.0)
    single = msgspec.structs.replace(
        cell, requests_per_second=msgspec.structs.replace(cell.requests_per_second, low=None, high=None)
    )
    text = html.render(header(plan([single], {})), judgement_of([single]), "run")
    assert Page(text).named("target", "conn.")[0][2][2] == "100"


def test_leaves_out_the_least_telling_of_a_huge_run() -> None:
    cells = [
        summary(f"framework/server/store-{number}", 1000.0 + number, workload=f"sql-list:{rows}", view=view, launches=4)
        for rows in range(20)
        for view in ("capacity", "fixed-rate")
        for number in range(15)
    ]
    text = html.render(header(plan(cells, {})), judgement_of(cells), "big")
    assert len(text.encode()) < MAX_BYTES
    read = Page(text)
    assert sum(len(table) - 2 for table in read.named("target", "conn.")) == 600
    assert "Left out to keep this file small: time series of" in read.text
    assert "Throughput" in read.text


def test_colours_are_legible_in_light_and_dark() -> None:
    style = resources.files("iobound.report").joinpath("templates/style.css").read_text()
    light, dark = (dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{3,6})", part)) for part in style.split("prefers-color-scheme", 1))
    for colours in (light, dark):
        for name in (*words.BOUNDS, "ink", "muted", "accent"):
            for ground in ("paper", "card", "tint"):
                assert contrast(colours[name], colours[ground]) >= 4.5, (name, ground)


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours (WCAG 2.1, relative luminance)."""

    def luminance(colour: str) -> float:
        digits = colour[1:] if len(colour) == 7 else "".join(digit * 2 for digit in colour[1:])
        parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
        red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


Chromium = Callable[..., CompletedProcess[str]]


def requests(log: Path) -> list[str]:
    """Return the URLs that the page asked for; what the browser asks for itself has no origin."""
    events = json.loads(log.read_text())["events"]
    starts = [event["params"] for event in events if "initiator" in event.get("params", {})]
    return [params["url"] for params in starts if params["initiator"] != "not an origin"]


def test_loads_in_chromium_without_errors_or_requests(page: str, chromium: Chromium, tmp_path: Path) -> None:
    file, log = tmp_path / "report.html", tmp_path / "net.json"
    file.write_text(page)
    watching = ("--enable-logging=stderr", "--v=0", f"--log-net-log={log}", "--dump-dom")
    shown = chromium(file, *watching)
    assert "CONSOLE" not in shown.stderr
    assert requests(log) == []
    assert Page(shown.stdout.strip()).tables == Page(page.strip()).tables


def test_would_notice_errors_and_requests(chromium: Chromium, tmp_path: Path) -> None:
    file, log = tmp_path / "bad.html", tmp_path / "net.json"
    file.write_text('<img src="http://elsewhere.invalid/x.png"><script>console.error("no")</script>')
    shown = chromium(file, "--enable-logging=stderr", "--v=0", f"--log-net-log={log}", "--dump-dom")
    assert "CONSOLE" in shown.stderr
    assert requests(log) == ["http://elsewhere.invalid/x.png"]


MEASURE = """<script>
document.querySelectorAll("details").forEach(each => { each.open = true });
const wide = [...document.querySelectorAll("main *")].filter(
    e => !e.closest("svg") && !e.closest(".scroll") && !e.closest("thead") && e.getBoundingClientRect().right > innerWidth + 1);
const texts = [...document.querySelectorAll("svg text")].map(e => e.getBoundingClientRect().height).filter(h => h > 0);
parent.document.title = JSON.stringify({
    width: innerWidth, content: document.documentElement.scrollWidth,
    wide: wide.map(e => e.tagName + e.className), smallest: Math.min(...texts)});
</script></body>"""


@pytest.mark.parametrize("width", [1280, 800, 390])
def test_fits_the_window(page: str, chromium: Chromium, tmp_path: Path, width: int) -> None:
    measured = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page).replace("</body>", MEASURE)
    file = tmp_path / "frame.html"  # a frame may be narrower than the narrowest window
    file.write_text(
        f'<title></title><iframe style="border: 0; width: {width}px; height: 900px" srcdoc="{escape(measured)}"></iframe>'
    )
    shown = chromium(file, "--window-size=1400,900", "--dump-dom").stdout
    seen = json.loads(Page(shown.strip()).text.partition("}")[0] + "}")
    assert seen["width"] == width
    assert seen["content"] <= width
    assert seen["wide"] == []
    assert seen["smallest"] >= 8


def test_prints(page: str, chromium: Chromium, tmp_path: Path) -> None:
    file, pdf = tmp_path / "report.html", tmp_path / "report.pdf"
    file.write_text(page)
    chromium(file, f"--print-to-pdf={pdf}", "--no-pdf-header-footer")
    assert pdf.read_bytes().startswith(b"%PDF")
