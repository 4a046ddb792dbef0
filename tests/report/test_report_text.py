from __future__ import annotations

import csv as reader
import io
import json as parser

import msgspec
import pytest
from report_builders import HOSTILE, header, judgement, plan, summary, tour_cells
from rich.console import Console

from iobound.records import Judgement, RunHeader
from iobound.report import csv, json, markdown, terminal

RUN = "iobound-runs/x"
Judged = tuple[RunHeader, Judgement]


def hostile(text: str) -> Judged:
    cells = [summary(text, 100.0, because=text), summary(text + "2", 90.0, invalid_because=text)]
    made = plan(cells, {"web/sql-list": text})
    tour = judgement(tour_cells(), plan(tour_cells(), {}))
    return header(made), msgspec.structs.replace(tour, verdict=text, cells=cells, ratios=[], controls=[])


def printed(judged: Judged, width: int, terminal_: bool = False) -> str:
    file = io.StringIO()
    terminal.render(
        *judged, Console(file=file, width=width, force_terminal=terminal_, color_system="standard" if terminal_ else None)
    )
    return file.getvalue()


@pytest.mark.parametrize("width", [80, 100, 160])
def test_terminal_fits_its_width_and_is_plain_when_piped(judged: Judged, width: int) -> None:
    text = printed(judged, width)
    assert max(map(len, text.splitlines())) <= width
    assert "\x1b" not in text
    for part in (
        "target CPU",
        "generator",
        "at least 1,050",
        "6.84x [6.64, 7.05]",
        "Published ratios, and here",
        "Published figures, and here",
        "Not measured",
        "A against A",
    ):
        assert part in text


def test_terminal_keeps_figures_on_one_line_at_100_columns(judged: Judged) -> None:
    lines = printed(judged, 100).splitlines()
    row = next(line for line in lines if line.startswith("aiohttp-as-published "))
    assert row.split() == [
        "aiohttp-as-published",
        "9,440",
        "[9,157,",
        "9,723]",
        "1.06",
        "2.39",
        "78.0",
        "+",
        "26.0",
        "target",
        "CPU",
    ]


def test_terminal_never_gives_an_invalid_cell_a_figure(judged: Judged) -> None:
    text = printed(judged, 100)
    row = next(line for line in text.splitlines() if line.startswith("starlette-sql-post-as-"))
    assert row.split() == ["starlette-sql-post-as-", "invalid", "–", "–", "–", "errors"]
    assert "every request was answered 500" in text
    assert "640 [" not in text


def test_terminal_colours_what_bound_a_cell(judged: Judged) -> None:
    assert "\x1b[34mtarget CPU" in printed(judged, 100, terminal_=True)


def test_terminal_takes_no_markup_and_no_control_sequences() -> None:
    text = printed(hostile("[red]x[/red] [/] \x1b[31mred\x07 [link=file:///]y"), 100)
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "[red]x[/red] [/] [31mred [link=file:///]y" in text


def test_terminal_is_wide_enough_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert terminal.console(io.StringIO()).width == 100


def test_markdown_has_a_table_for_each_group_and_view(judged: Judged) -> None:
    lines = markdown.render(*judged, RUN).splitlines()
    rules = [number for number, line in enumerate(lines) if line.startswith("|---")]
    assert len(rules) == 4 * 2 + 2 + 1
    for number in rules:
        columns = lines[number].count("|")
        assert lines[number - 2] == ""
        assert lines[number - 1].count("|") == columns
        rows = list(lines[number + 1 :][: lines[number + 1 :].index("")])
        assert rows
        assert all(row.count("|") == columns for row in rows)
    assert lines[0].startswith("## The published advantage")
    assert any("| invalid | not ranked | – | – | – | – | errors: invalid: every request" in line for line in lines)
    assert any("| at least 1,050 | not ranked |" in line for line in lines)


def test_markdown_escapes() -> None:
    text = markdown.render(*hostile(HOSTILE), RUN)
    assert "<script" not in text.replace("\\<", "")
    rows = [line for line in text.splitlines() if line.startswith("| \\<script")]
    assert len(rows) == 2
    assert all(row.replace("\\|", "").count("|") == 10 for row in rows)


def test_json_has_the_agreed_keys(judged: Judged) -> None:
    said = parser.loads(json.render(*judged, RUN))
    assert said["run"] == RUN
    assert said["verdict"].startswith("The published advantage")
    assert len(said["cells"]) == len(judged[1].cells)
    agreed = {
        *("target", "workload", "view", "concurrency", "rate", "engine", "valid", "invalid_because", "bound_by"),
        *("requests_per_second", "latency_ms", "cpu_us_per_request", "statements_per_request", "rows_per_request"),
        *("launches", "blocks"),
    }
    for cell in said["cells"]:
        assert agreed <= set(cell)
        assert {"target_user", "target_system", "database", "generator"} <= set(cell["cpu_us_per_request"])
        assert set(cell["requests_per_second"]) == {"estimate", "low", "high"}
        assert cell["view"] in {"capacity", "fixed-rate"}
    assert said["cells"][0]["rate"] is None
    assert said["cells"][0]["cpu_us_per_request"]["database"] is None


def test_csv_has_one_row_a_cell_and_the_same_columns_for_every_run(judged: Judged) -> None:
    text = csv.render(*judged, RUN)
    rows = list(reader.DictReader(io.StringIO(text)))
    assert len(rows) == len(judged[1].cells)
    first = rows[1]
    assert (first["target"], first["requests_per_second"], first["bound_by"]) == (
        "aiohttp-as-published",
        "9440.0",
        "target-cpu",
    )
    assert float(first["requests_per_second_low"]) < 9440 < float(first["requests_per_second_high"])
    assert {"latency_p99_ms", "cpu_target_user_us", "wait_us", "statements_per_request"} <= set(first)
    empty = csv.render(judged[0], msgspec.structs.replace(judged[1], cells=[]), RUN)
    assert text.startswith(empty)


def test_csv_gives_no_figures_of_invalid_cells(judged: Judged) -> None:
    rows = list(reader.DictReader(io.StringIO(csv.render(*judged, RUN))))
    (invalid,) = [row for row in rows if row["valid"] == "False"]
    assert invalid["invalid_because"].startswith("every request was answered 500")
    assert not any(value for name, value in invalid.items() if name.startswith(("requests", "latency", "cpu", "wait")))


def test_csv_holds_no_formulas() -> None:
    cells = csv.render(*hostile("=HYPERLINK(1)"), RUN)
    assert "'=HYPERLINK(1)" in cells
    assert ",=" not in cells
