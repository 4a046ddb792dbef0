"""The way from one web target to another, one factor at a time: what each step changes, and the comparisons that measure it.

A state is a framework on a server over a store with some settings. A step changes one of these; the cheapest sequence of steps
is searched for (Dijkstra, A note on two problems in connexion with graphs, 1959), where changing two things at once, for want
of a state in between, is dear. Among sequences that cost the same, the order of `ORDER` is preferred, or its reverse.
"""

from __future__ import annotations

import heapq
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from iobound.errors import UsageError
from iobound.lab.catalogue import NO_SERVICE, AsPublished, Catalogue, Target
from iobound.lab.parts import Description, Kind, Knob, Part, Server
from iobound.load.engine import DEFAULT
from iobound.planning import Contender, Question, at_levels
from iobound.records import Step, Walk, Workload

KNOBS: dict[Knob, tuple[str, str]] = {
    "KEEP_ALIVE": ("keep-alive", "75"),
    "ACCESS_LOG": ("access log", "0"),
    "DEBUG": ("debug flag", "0"),
    "WORKERS": ("workers", "1"),
    "THREADS": ("threads", "10"),
    "POOL_SIZE": ("pool size", "10"),
    "CONNECT": ("connection", "pooled"),
    "SESSION_FACTORY": ("session factory", "once"),
    "RESET_ON_RELEASE": ("releasing a connection", "1"),
    "AUTOCOMMIT": ("autocommit", "0"),
}
"""What each setting is called as a factor, and what it is where nothing is said."""

LEVELS = {
    "KEEP_ALIVE": {"0": "off", "75": "on"},
    "ACCESS_LOG": {"0": "off", "1": "on"},
    "DEBUG": {"0": "off", "1": "on"},
    "CONNECT": {"each": "one per request"},
    "SESSION_FACTORY": {"each": "one per request"},
    "RESET_ON_RELEASE": {"0": "as it is", "1": "reset"},
    "AUTOCOMMIT": {"0": "off", "1": "on"},
}

PROGRAM, COLOUR = "program", "sync or async"
EMPTY = "(empty)"  # what a variable without characters is told as
LOOP = "event loop and parser"
PARTS = ["server", "worker class", "framework", LOOP, "data layer", "driver"]
WHAT = ("framework", "server", "data layer")  # what the parts of a state are called as factors
ORDER = [*(name for name, _ in KNOBS.values()), *PARTS, COLOUR]

# What changing one thing costs, each of several at once, and a setting that the next state can't have.
ONE, EACH, SILENT = 1.0, 5.0, 20.0
PREFER, LONGEST = 1e-3, 16  # what a step that comes too early costs more, and after how many steps none is early


class State(NamedTuple):
    """A composed target by its parts, and every setting that is given at one of the ends, whether it heeds it or not."""

    framework: str
    server: str
    store: str
    settings: tuple[tuple[Knob, str], ...]


class Move(NamedTuple):
    """One change of a state, and what it costs. More than one factor where none of them can be changed without the others."""

    factors: tuple[str, ...]
    before: str
    after: str
    cost: float
    to: State


@dataclass(frozen=True)
class Station:
    """Something that can be launched: a target with the settings that it heeds."""

    target: Contender
    settings: Mapping[str, str]

    @property
    def key(self) -> tuple[str, ...]:
        """What makes two stations the same."""
        return (self.target.name, *(f"{name}={value}" for name, value in sorted(self.settings.items())))

    @property
    def label(self) -> str:
        """What it is called as an end of a walk."""
        settings = ", ".join(f"{name}={value}" for name, value in self.settings.items())
        return f"{self.target.name} with {settings}" if settings else self.target.name


@dataclass(frozen=True)
class Change:
    """A step between two stations."""

    factors: tuple[str, ...]
    before: str
    after: str
    start: Station
    end: Station

    @property
    def factor(self) -> str:
        """What changes; more than one thing where none of them can be changed without the others."""
        return " and ".join([", ".join(self.factors[:-1]), self.factors[-1]] if len(self.factors) > 1 else self.factors)

    @property
    def told(self) -> str:
        """What changes, from what to what."""
        return f"{self.factor}: {self.before} to {self.after}"


class Ways:
    """Finds the ways between two targets of a catalogue."""

    def __init__(self, catalogue: Catalogue, first: Target, last: Target) -> None:
        self.catalogue = catalogue
        self.first, self.last = first, last
        start, end = _composed(catalogue, first), _composed(catalogue, last)
        self.knobs = sorted({*start[1], *end[1]}, key=list(KNOBS).index)
        self.start, self.goal = self._state(*start), self._state(*end)

    def forwards(self) -> list[Change]:
        """Return the steps from `first` to `last` in the order of `ORDER`, the swap of sync for async last.

        A published program is exchanged for what comes nearest to it that is composed of parts, which is a step of its own.
        Ratios multiply in any order: a swap that had to come before others, which are only to be had in async, stands last all
        the same. Raises `UsageError` where there is no way.
        """
        steps = self._there
        return [*(step for step in steps if step.factors != (COLOUR,)), *(step for step in steps if step.factors == (COLOUR,))]

    def backwards(self) -> list[Change]:
        """Return the steps from `first` to `last` in the opposite order, as far as it is possible."""
        return self._steps(ORDER[::-1])

    def notes(self) -> list[str]:
        """Return what must be known to read the steps: what stands for a published program, and a swap that was moved."""
        told = []
        for target in (self.first, self.last):
            if isinstance(target, AsPublished):
                nearest, settings = _composed(self.catalogue, target)
                set_to = [f"{KNOBS[knob][0]} {_level(knob, value)}" for knob, value in settings.items()]
                told.append(f"{target.name} is walked as what comes nearest to it: {', '.join([nearest.name, *set_to])}")
        if (COLOUR,) in [step.factors for step in self._there[:-1]]:
            told.append(f"{COLOUR} stands last, though on the way it comes before steps that only one side of it can make")
        return told

    @cached_property
    def _there(self) -> list[Change]:
        return self._steps(ORDER)

    def _steps(self, order: Sequence[str]) -> list[Change]:
        leaving = [
            Change((PROGRAM,), of.name, to.target.name, Station(of, {}), to)
            for of, to in self._published(self.first, self.start)
        ]
        entering = [
            Change((PROGRAM,), to.target.name, of.name, to, Station(of, {})) for of, to in self._published(self.last, self.goal)
        ]
        return [*leaving, *self._walk(order), *entering]

    def _published(self, target: Target, state: State) -> list[tuple[Target, Station]]:
        """Return a published program with what comes nearest to it; nothing for what is composed of parts."""
        return [(target, self._station(state))] if isinstance(target, AsPublished) else []

    def _walk(self, order: Sequence[str]) -> list[Change]:
        ranks = {factor: rank / len(order) for rank, factor in enumerate(order)}
        number = itertools.count()
        Path = tuple[tuple[State, Move], ...]
        nearest: list[tuple[float, int, State, Path]] = [(0.0, next(number), self.start, ())]
        done: set[State] = set()
        while nearest:
            cost, _, state, path = heapq.heappop(nearest)
            if self._arrived(state):
                return [
                    Change(move.factors, move.before, move.after, self._station(before), self._station(move.to))
                    for before, move in path
                ]
            if state in done:
                continue
            done.add(state)
            for move in self._moves(state):
                early = PREFER * ranks.get(move.factors[0], 1.0) * max(0.0, 1 - len(path) / LONGEST)
                heapq.heappush(nearest, (cost + move.cost + early, next(number), move.to, (*path, (state, move))))
        raise UsageError(f"there is no way from {self.first.name} to {self.last.name} by the parts of the catalogue")

    def _state(self, target: Target, settings: Mapping[Knob, str]) -> State:
        framework, server, store = (part.name for part in target.parts)
        return State(framework, server, store, tuple((knob, settings.get(knob, KNOBS[knob][1])) for knob in self.knobs))

    def _target(self, state: State) -> Target | None:
        """Return the target of a state, ``None`` where its parts don't fit together."""
        with suppress(UsageError):
            return self.catalogue.compose(*state[:3])
        return None

    def _station(self, state: State) -> Station:
        target = self.catalogue.compose(*state[:3])
        return Station(target, {knob: value for knob, value in state.settings if knob in target.knobs})

    def _arrived(self, state: State) -> bool:
        return state[:3] == self.goal[:3] and self._station(state).key == self._station(self.goal).key

    def _moves(self, state: State) -> Iterator[Move]:
        here = self.catalogue.compose(*state[:3])
        goal = dict(self.goal.settings)
        for knob, value in state.settings:
            if knob in here.knobs and value != goal[knob]:
                settings = tuple((name, goal[name] if name == knob else held) for name, held in state.settings)
                to = state._replace(settings=settings)
                yield Move((KNOBS[knob][0],), _level(knob, value), _level(knob, goal[knob]), ONE, to)
        for factors, to in self._exchanges(state):
            there = self._target(to)
            if there is not None:
                unsaid = tuple(
                    KNOBS[knob][0] for knob, held in state.settings if held != goal[knob] and knob not in there.knobs
                )
                moved = ("service",) if here.service and there.service and here.service != there.service else ()
                changed = (*factors, *moved)
                cost = (ONE if len(changed) == 1 else EACH * len(changed)) + SILENT * len(unsaid)
                yield Move((*changed, *unsaid), _titles(here, there), _titles(there, here), cost, to)

    def _exchanges(self, state: State) -> Iterator[tuple[tuple[str, ...], State]]:
        """Yield what a state can become by other parts, with the factors that this changes; the parts may not fit together."""
        frameworks, servers, stores = self.catalogue.frameworks, self.catalogue.servers, self.catalogue.stores
        mine, own, data = frameworks[state.framework], servers[state.server], stores[state.store]
        for name in self._parts("server", servers, bridges=True):
            yield _serving(own, servers[name]), state._replace(server=name)
        for name in self._parts("framework", frameworks, bridges=True):
            if frameworks[name].description.calls != mine.description.calls:
                continue
            yield ("framework",), state._replace(framework=name)
            if own.description.twin and frameworks[name].description.interface != mine.description.interface:
                yield ("framework",), state._replace(framework=name, server=own.description.twin)
            for server in self._parts("server", servers):
                yield ("framework", *_serving(own, servers[server])), state._replace(framework=name, server=server)
        for name in self._parts("store", stores):
            yield ("driver" if _alike(data, stores[name]) else "data layer",), state._replace(store=name)
        coloured = mine.description.twin
        if coloured and frameworks[coloured].description.calls != mine.description.calls:
            for name in self._parts("store", stores):
                alike = name == data.description.twin
                yield (COLOUR,) if alike else (COLOUR, "data layer"), state._replace(framework=coloured, store=name)
        if frameworks[self.goal.framework].description.calls != mine.description.calls:
            ends = zip(self._parts_of(state), self._parts_of(self.goal), strict=True)
            differing = [part for part, (old, new) in zip(WHAT, ends, strict=True) if old.title != new.title]
            yield (*differing, COLOUR), self.goal._replace(settings=state.settings)

    def _parts_of(self, state: State) -> tuple[Description, ...]:
        frameworks, servers, stores = self.catalogue.frameworks, self.catalogue.servers, self.catalogue.stores
        return tuple(part.description for part in (frameworks[state.framework], servers[state.server], stores[state.store]))

    def _parts(self, kind: str, parts: Mapping[str, Part[Kind]], *, bridges: bool = False) -> list[str]:
        """Return the parts that a way may use: those of the ends, their twins, and if asked all that lead from one thing to
        another: those that have a twin, or the same library on another event loop.
        """
        ends = [getattr(self.start, kind), getattr(self.goal, kind)]
        twins = [twin for name in ends if (twin := _twin(parts[name]))]
        leading = [
            name
            for name, part in parts.items()
            if bridges and (_twin(part) or any(_alike(part, other) and _loops(part, other) for other in parts.values()))
        ]
        return list(dict.fromkeys([*ends, *twins, *leading]))


def _level(knob: Knob, value: str) -> str:
    """Say what a setting is set to."""
    return LEVELS.get(knob, {}).get(value, value)


def _titles(target: Target, other: Target) -> str:
    """Say what the parts of a target are that it doesn't share with another one; what stands in for a store isn't worth a word
    beside others.
    """
    own = [part for part, its in zip(target.parts, other.parts, strict=True) if part.name != its.name]
    told = [part for part in own if getattr(part.description, "service", None) != NO_SERVICE]
    return " + ".join(part.description.title for part in told or own)


def _twin(part: Part[Kind]) -> str | None:
    twin: str | None = getattr(part.description, "twin", None)
    return twin


def _alike(one: Part[Kind], other: Part[Kind]) -> bool:
    """Tell whether two parts use the same library."""
    libraries = [re.split(r"[^\w-]", part.dependencies[0])[0] for part in (one, other) if part.dependencies]
    return len(libraries) == 2 and libraries[0] == libraries[1]


def _loops(one: Part[Kind], other: Part[Kind]) -> bool:
    """Tell whether two parts run different event loops."""
    loops = [getattr(part.description, "loop", None) for part in (one, other)]
    return None not in loops and loops[0] != loops[1]


def _serving(one: Part[Server], other: Part[Server]) -> tuple[str, ...]:
    """Return what changes from one server to another."""
    if _alike(one, other):
        return (LOOP,) if _loops(one, other) else ("worker class",)
    return ("server", LOOP) if _loops(one, other) else ("server",)


def _composed(catalogue: Catalogue, target: Target) -> tuple[Target, Mapping[Knob, str]]:
    """Return what comes nearest to `target` that is composed of parts, and its settings."""
    if not isinstance(target, AsPublished):
        return target, {}
    like = target.description.like.get(target.service or "none")
    if like is None:
        raise UsageError(
            f"what {target.name} is made of isn't known: {target.program} has no table [tool.iobound.like] for "
            f"{target.service or 'no service'}"
        )
    return catalogue.find(like.target), like.settings


class _Asked:
    """Makes the comparisons of a walk, each once."""

    def __init__(self, id_: str, workload: Workload, concurrency: int) -> None:
        self.id, self.workload, self.concurrency = id_, workload, concurrency
        self.question = Question()
        self._made: dict[tuple[tuple[str, ...], ...], str] = {}

    def steps(self, direction: str, changes: Sequence[Change]) -> list[Step]:
        """Ask each change of a walk and return its steps."""
        return [
            Step(
                factor=change.factor,
                before=change.before,
                after=change.after,
                comparison=self.pair(f"{direction}{number}", change.told, change.start, change.end),
            )
            for number, change in enumerate(changes, 1)
        ]

    def pair(
        self, name: str, question: str, start: Station, end: Station, *, engine: str = DEFAULT, control: bool = False
    ) -> str:
        """Ask two stations side by side, the first as the baseline, and return the comparison's id."""
        key = (start.key, end.key, (engine,))
        if key not in self._made:
            self._made[key] = id_ = f"{self.id}/{name}"
            contenders = [(place, station.target, station.settings) for place, station in (("from", start), ("to", end))]
            self.question += at_levels(
                "explain", id_, question, contenders, self.workload, self.concurrency, engine=engine, control=control
            )
        return self._made[key]


def walk(
    catalogue: Catalogue,
    names: tuple[str, str],
    workload: Workload,
    concurrency: int,
    *,
    both_ways: bool = True,
    tool: str | None = None,
) -> Question:
    """Return the walk between two targets under `workload`, and the comparisons that measure it.

    `both_ways` measures the steps in the opposite order as well, `tool` names a load tool that measures the two ends too.
    Raises `UsageError` where a target is unknown or doesn't serve the workload, or where there is no way.
    """
    first, last = map(catalogue.find, names)
    for target in (first, last):
        if not target.serves(workload):
            raise UsageError(f"{target.name} doesn't serve the workload {workload}; `iobound list` shows what each needs")
    if first.name == last.name:
        raise UsageError(f"{first.name} is both ends; name two targets")
    ways = Ways(catalogue, first, last)
    back = ways.backwards() if both_ways else []
    return _asked(Station(first, {}), Station(last, {}), ways.forwards(), back, workload, concurrency, tool, ways.notes())


def walk_of_commands(
    first: Contender,
    last: Contender,
    factors: Mapping[str, tuple[str, str]],
    workload: Workload,
    concurrency: int,
    *,
    both_ways: bool = True,
    notes: Sequence[str] = (),
) -> Question:
    """Return the walk between two commands: each of the `factors` (environment variables, from one value to another) changes
    by itself, and the command, last or in the opposite order first, where it is another one.
    """
    start = Station(first, {name: before for name, (before, _) in factors.items()})
    end = Station(last, {name: after for name, (_, after) in factors.items()})

    def changes(order: Sequence[str | None]) -> Iterator[Change]:
        now = start
        for name in order:
            if name is None:
                then = Station(last, now.settings)
                yield Change(("command",), first.name, last.name, now, then)
            else:
                before, after = factors[name]
                then = Station(now.target, {**now.settings, name: after})
                yield Change((name,), before or EMPTY, after or EMPTY, now, then)
            now = then

    order = [*factors, *([] if first is last else [None])]
    back = list(changes(order[::-1])) if both_ways else []
    return _asked(start, end, list(changes(order)), back, workload, concurrency, notes=notes)


def _asked(
    first: Station,
    last: Station,
    forwards: Sequence[Change],
    backwards: Sequence[Change],
    workload: Workload,
    concurrency: int,
    tool: str | None = None,
    notes: Sequence[str] = (),
) -> Question:
    """Return a walk and its comparisons."""
    asked = _Asked(f"explain/{workload}/{first.target.name}..{last.target.name}", workload, concurrency)
    direct = asked.pair("direct", "the two ends", first, last, control=True)
    there, back = asked.steps("forwards", forwards), asked.steps("backwards", backwards)
    together = [change.factor for change in forwards if len(change.factors) > 1]
    made = Walk(
        id=asked.id,
        first=first.label,
        last=last.label,
        workload=str(workload),
        direct=direct,
        forwards=there,
        backwards=back if {step.comparison for step in back} != {step.comparison for step in there} else [],
        tool=asked.pair(tool, f"the two ends, by {tool}", first, last, engine=tool) if tool else None,
        notes=[*notes, *(f"{listed} can't be changed alone here" for listed in dict.fromkeys(together))],
    )
    return replace(asked.question, walks=[made])
