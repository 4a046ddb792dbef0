"""What the paradigm itself costs: calls, generators, coroutines, turns of the event loop, switches of threads and greenlets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from iobound.errors import UsageError, nearest
from iobound.lab import interpreters, primitives
from iobound.planning import Choice, Question
from iobound.records import CallCell, Rounds

TITLE = "What calls, coroutines, turns of an event loop and switches cost, on several interpreters"
BUDGET_S = 45.0  # of two interpreters
QUICK_BUDGET_S = 15.0
FACTORS = {"python", "primitives"}

PLAIN = "plain"  # the family of the plain call, which all others are held against


def plan(choice: Choice) -> Question:
    """Measure every family on the chosen interpreters: by default iobound's own and the oldest Python 3."""
    wanted = _wanted(choice.primitives)
    pythons = choice.python or _usual()
    cells = [cell for python in pythons for cell in _cells(python, wanted, choice.quick)]
    return Question(
        scripts=[
            Rounds(
                experiment="calls",
                baseline=next(cell.id for cell in cells if cell.family == PLAIN),
                cells=[*cells],
                rounds=3 if choice.quick else 5,
                budget_s=(QUICK_BUDGET_S if choice.quick else BUDGET_S) * max(1.0, len(pythons) / 2),
            )
        ]
    )


def _wanted(chosen: Sequence[str]) -> dict[str, list[str]]:
    """Return the primitives to measure by family: the chosen ones and the plain call that they are held against."""
    known = {name: primitives.names(name) for name in primitives.families()}
    if not chosen:
        return known
    every = sorted({name for of in known.values() for name in of})
    for name in chosen:
        if name not in every:
            raise UsageError(nearest(name, every, "primitive"))
    return {family: [name for name in of if name in (*chosen, "call")] for family, of in known.items()}


def _usual() -> list[str]:
    found = [interpreters.own(), interpreters.oldest_python3()]
    return list(dict.fromkeys("{}.{}".format(*each.release) for each in found))


def _cells(python: str, wanted: dict[str, list[str]], quick: bool) -> Iterator[CallCell]:
    """Yield the cells of an interpreter; of one that is missing only the first, which says so."""
    if interpreters.missing(python):
        families = [PLAIN]
    else:
        release = interpreters.find(python).release
        families = [name for name, family in primitives.families().items() if wanted[name] and family.runs_on(release)]
    for name in families:
        family = primitives.families()[name]
        loops: Sequence[str | None] = family.description.loops or [None]
        for loop in loops[:1] if quick and family.description.service else loops:
            yield CallCell(
                id="/".join(["calls", python, name, *([loop] if loop else [])]),
                python=python,
                service=family.description.service,
                family=name,
                loop=loop,
                primitives=wanted[name],
                target_s=0.001 if quick else 0.002,  # many short values: one at least isn't disturbed
                values=6 if quick else 9,
            )
