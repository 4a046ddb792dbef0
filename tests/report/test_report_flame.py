"""Flame graphs of stacks that are given."""

from __future__ import annotations

import re

from iobound.report import flame

STACKS = {"main:a;work:b": 60, "main:a;work:c": 30, "main:a": 8, ":GC:": 2}


def boxes(stacks: dict[str, int]) -> dict[str, tuple[float, float, float]]:
    """Return where each function begins, its row and its width, in shares of the whole and in rows."""
    drawn = flame.draw(stacks, {}, "grey")
    found = re.findall(r'<title>(.*?): [\d.]+%</title><rect x="([\d.]+)" y="(\d+)" width="([\d.]+)"', drawn)
    return {name: (float(x) / flame.WIDTH, int(y) / flame.ROW, (float(width) + 1) / flame.WIDTH) for name, x, y, width in found}


def close(found: tuple[float, float, float], expected: tuple[float, float, float]) -> bool:
    return all(abs(one - other) < 0.003 for one, other in zip(found, expected, strict=True))


def test_a_function_is_as_wide_as_its_share_and_below_its_caller():
    found = boxes(STACKS)
    assert close(found["main:a"], (0, 0, 0.98))
    assert close(found["work:b"], (0, 1, 0.6))
    assert close(found["work:c"], (0.6, 1, 0.3))
    assert close(found[":GC:"], (0.98, 0, 0.02))


def test_what_is_too_narrow_to_be_seen_is_left_out():
    assert boxes({"a:a": 10_000, "b:b": 1}).keys() == {"a:a"}


def test_its_height_is_that_of_its_deepest_stack():
    assert f'viewBox="0 0 {flame.WIDTH} {2 * flame.ROW}"' in flame.draw(STACKS, {}, "grey")


def test_functions_have_their_colours():
    drawn = flame.draw(STACKS, {"work:b": "var(--some)"}, "grey")
    assert drawn.count('fill="var(--some)"') == 1
    assert drawn.count('fill="grey"') == 3


def test_names_are_text_and_no_markup():
    assert "<script>" not in flame.draw({"<script>alert(1)</script>:x": 1}, {}, "grey")


def test_names_are_cut_to_their_boxes():
    long = "package/module.py:Class.a_function_with_a_rather_long_name"
    drawn = flame.draw({long: 10, "b:b": 90}, {}, "grey")
    assert re.search(r">a_func.*…</text>", drawn)
