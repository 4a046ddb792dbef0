"""Flame graphs: where samples of stacks lie, the callers above, each function as wide as its share of the samples.

After Gregg: The flame graph, Communications of the ACM 59 (2016), there with the callers below.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from markupsafe import Markup, escape

WIDTH = 540  # px
ROW = 17
FONT = 10.5
LETTER = 5.7  # px: the mean width of one at this size
GARBAGE = ":GC:"
LEAST = 0.004  # share of the samples that is still drawn


@dataclass
class Node:
    """A function within its callers: the samples in it and in what it calls."""

    samples: int = 0
    calls: dict[str, Node] = field(default_factory=dict)

    @classmethod
    def of(cls, stacks: Mapping[str, int]) -> Node:
        """Merge stacks, whose functions are separated by ``;`` from the outermost on."""
        root = cls()
        for stack, count in stacks.items():
            node = root
            node.samples += count
            for function in stack.split(";"):
                node = node.calls.setdefault(function, cls())
                node.samples += count
        return root


def draw(stacks: Mapping[str, int], colours: Mapping[str, str], otherwise: str) -> Markup:
    """Draw a flame graph; `colours` are CSS colours by function, `otherwise` that of the rest."""
    root = Node.of(stacks)
    boxes: list[str] = []
    depth = _children(boxes, root, 0.0, 0, root.samples, colours, otherwise)
    inside = "".join(boxes)
    return Markup(
        f'<svg viewBox="0 0 {WIDTH} {depth * ROW}" font-size="{FONT}" font-family="Helvetica, Arial, sans-serif" '
        f'aria-hidden="true">{inside}</svg>'
    )


def _children(
    boxes: list[str], node: Node, left: float, row: int, whole: int, colours: Mapping[str, str], otherwise: str
) -> int:
    """Add a box for each function that `node` calls, the most frequent first; return how many rows there are."""
    depth = row
    for function, called in sorted(node.calls.items(), key=lambda item: -item[1].samples):
        width = called.samples / whole * WIDTH
        if called.samples < LEAST * whole:
            break
        boxes.append(_box(function, called.samples / whole, left, row, width, colours.get(function, otherwise)))
        depth = max(depth, row + 1, _children(boxes, called, left, row + 1, whole, colours, otherwise))
        left += width
    return depth


def _box(function: str, share: float, left: float, row: int, width: float, colour: str) -> str:
    name = _short(function)
    room = int((width - 6) / LETTER)
    shown = name if len(name) <= room else f"{name[: room - 1]}…" if room > 3 else ""
    text = f'<text x="{left + 3:.1f}" y="{row * ROW + 12}" fill="var(--paper)">{escape(shown)}</text>' if shown else ""
    place = f'x="{left:.1f}" y="{row * ROW}" width="{max(width - 1, 0.4):.1f}" height="{ROW - 1}"'
    return f'<g><title>{escape(function)}: {share:.1%}</title><rect {place} fill="{colour}"/>{text}</g>'


def _short(function: str) -> str:
    """Return the name of a function without its folder, its enclosing functions and its class."""
    if function == GARBAGE:
        return "garbage collection"
    path, _, name = function.rpartition(":")
    return f"{name.replace('<locals>.', '').rpartition('.')[2] or name} {path.rpartition('/')[2].removesuffix('.py')}"
