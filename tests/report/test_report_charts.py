from __future__ import annotations

import re

import msgspec
from report_builders import plan, summary

from iobound.records import CellSummary, CpuPerRequest, Interval, Judgement, Progress
from iobound.report import charts, groups
from iobound.report.groups import Group


def grouped(*cells: CellSummary) -> Group:
    judged = Judgement(
        verdict="", cells=list(cells), ratios=[], controls=[], findings=[], claims=[], not_measured=[], endings=[]
    )
    (group,) = groups.group(judged, plan(list(cells), {}))
    return group


def texts(figure: charts.Figure | None) -> list[str]:
    assert figure
    return re.findall(r"<text[^>]*>([^<]*)</text>", figure.svg)


def drawn(figure: charts.Figure | None, element: str, colour: str) -> list[str]:
    """Return the elements of the picture that are drawn in a colour."""
    assert figure
    return [found for found in re.findall(rf"<{element} [^>]*>", figure.svg) if f'"var(--{colour})"' in found]


def test_colour_and_words_say_what_bound_a_figure() -> None:
    group = grouped(summary("a", 900.0), summary("b", 1050.0, bound_by="generator"))
    figure = charts.draw("throughput", group, "capacity")
    assert {"a", "target CPU", "b", "generator"} <= set(texts(figure))
    assert len(drawn(figure, "path", "target-cpu")) == 1
    assert len(drawn(figure, "path", "generator")) == 1
    assert figure.bounds == ["target-cpu", "generator"]
    assert figure.suspect == ["b: generator"]


def test_intervals_are_drawn_where_there_are_some() -> None:
    single = msgspec.structs.replace(summary("b", 500.0), requests_per_second=Interval(estimate=500.0))
    figure = charts.draw(
        "throughput", grouped(summary("a", 900.0), single, summary("c", 1.0, bound_by="generator")), "capacity"
    )
    assert len(drawn(figure, "line", "target-cpu")) == 1
    assert len(drawn(figure, "line", "generator")) == 0


def test_several_concurrencies_become_a_curve_for_each_target() -> None:
    cells = [summary(name, level * 10.0, concurrency=level) for level in (1, 10, 100) for name in ("a", "b")]
    figure = charts.draw("throughput", grouped(*cells), "capacity")
    assert figure.title == "Throughput over concurrency"
    assert len(drawn(figure, "path", "muted")) == 2
    assert len(drawn(figure, "path", "context")) == 4
    assert texts(figure).count("100") >= 2
    assert charts.draw("latency", grouped(*cells), "capacity").table.columns[1] == "a, c=1: target CPU"


def test_invalid_cells_are_named_and_not_drawn() -> None:
    group = grouped(summary("a", 900.0), summary("b", 99_000.0, invalid_because="it lied"))
    for kind in ("throughput", "cpu", "latency", "progress"):
        figure = charts.draw(kind, group, "capacity")
        assert "b" not in texts(figure)
        assert figure.missing == ["b: it lied"]
    assert charts.draw("cpu", grouped(summary("b", 9.0, invalid_because="it lied")), "capacity") is None


def test_the_wait_is_called_a_remainder_and_stands_beside_the_cpu() -> None:
    figure = charts.draw("cpu", grouped(summary("a", 900.0)), "capacity")
    assert {"CPU, µs a request", "wait (remainder), µs", "target, user", "generator"} <= set(texts(figure))
    assert figure.table.rows[0][1:4] == ["1,000 [970, 1,030]", "150 [146, 154]", "250 [242, 258]"]


def test_what_is_absent_is_left_out() -> None:
    cell = summary("a", 900.0)
    nothing = CpuPerRequest(target_user=None, target_system=None, database=None, generator=None)
    bare = msgspec.structs.replace(
        cell, cpu_us_per_request=nothing, wait_us_per_request=None, percentile_curve=None, progress=None
    )
    assert charts.draw("latency", grouped(bare), "capacity") is None
    assert charts.draw("progress", grouped(bare), "capacity") is None
    assert charts.draw("cpu", grouped(bare), "capacity").table.rows[0][1:-1] == ["–"] * 6
    assert charts.draw("throughput", grouped(bare), "fixed-rate") is None


def test_time_series_break_between_launches_and_mark_failures() -> None:
    course = Progress(
        at_s=[0.0, 0.1, 0.2, 0.3],
        launch=[0, 0, 1, 1],
        requests_per_second=[10.0, 20.0, 15.0, 12.0],
        failures_per_second=[0.0, 0.0, 3.0, 0.0],
        latency_max_ms=[1.0, None, 2.0, 2.5],
    )
    cell = msgspec.structs.replace(summary("a", 900.0), progress=course)
    figure = charts.draw("progress", grouped(cell), "capacity")
    assert len(drawn(figure, "path", "target-cpu")) == 2
    assert len(drawn(figure, "path", "errors")) == 1
    assert figure.table.rows == [["0.00", "10.0"], ["0.10", "20.0"], ["0.20", "15.0 (3.00 failed/s)"], ["0.30", "12.0"]]
    fixed = charts.draw("progress", grouped(msgspec.structs.replace(cell, view="fixed-rate")), "fixed-rate")
    assert [row[1] for row in fixed.table.rows] == ["1.00", "–", "2.00 (3.00 failed/s)", "2.50"]


def test_pictures_are_made_for_the_page() -> None:
    for kind in ("throughput", "cpu", "latency", "progress"):
        svg = charts.draw(kind, grouped(summary("a", 900.0), summary("b", 800.0)), "capacity").svg
        assert not re.search(r"#[0-9a-f]{3,6}\b|\bid=|NaN|undefined|null", svg)
        assert re.match(r'<svg viewBox="0 0 [\d.]+ [\d.]+" aria-hidden="true">', svg)
        assert float(svg.split('"')[1].split()[2]) <= 460


def test_names_are_shown_as_they_are() -> None:
    names = ["server-3.14159/<b>&amp;", "1.2345"]
    for kind in ("throughput", "cpu", "latency", "progress"):
        shown = "".join(texts(charts.draw(kind, grouped(*(summary(name, 900.0) for name in names)), "capacity")))
        assert "server-3.14159/&lt;b&gt;&amp;amp;" in shown
        assert "1.2345" in shown
