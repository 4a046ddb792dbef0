"""Does a target answer every workload as it must? Verified without timing, rows counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from threading import Lock
from typing import Literal

from iobound import workloads
from iobound.errors import BadAnswer, LabError
from iobound.lab import targets
from iobound.lab.catalogue import Target
from iobound.lab.service import Service
from iobound.measure.verify import verify
from iobound.records import Workload

ROWS = Workload(name="sql-list").rows  # of the table that all of them are verified on
AS_EXPECTED = "fails as expected"
WORKLOADS = [Workload(name=name, wait_ms=1) for name in workloads.NAMES]


class Ground:
    """A running service with its data, to verify targets on. One of them writes at a time, so that rows can be counted."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._url = service.dataset(ROWS)
        self._turn = Lock()

    @property
    def settings(self) -> dict[str, str]:
        """What a target is told in its environment."""
        return {"DATABASE_URL" if self._service.kind == "sql" else "CACHE_URL": self._url}

    @contextmanager
    def counted(self, inserts: int) -> Iterator[None]:
        """Raise `BadAnswer` where what is done within doesn't add as many rows as it has `inserts`."""
        if not inserts:
            yield
            return
        with self._turn:
            before = self._service.count_entries(self._url)
            yield
            written = self._service.count_entries(self._url) - before
        if written != inserts:
            raise BadAnswer(f"{inserts} inserts were answered as done, {written} rows were added")


@dataclass(frozen=True)
class Verdict:
    """What became of a target: `workloads` says of each that it has whether it was ``verified``, or what was wrong."""

    target: str
    status: Literal["verified", "failed", "unavailable"]
    reason: str | None
    workloads: dict[str, str]


def conform(target: Target, ground: Ground | None, seed: int = 0) -> Verdict:
    """Launch `target` and verify each of its workloads."""
    found: dict[str, str] = {}
    wrong: list[str] = []
    try:
        with targets.launch(target, settings=ground.settings if ground else {}) as running:
            for workload in filter(target.serves, WORKLOADS):
                try:
                    found[workload.name] = _conform(running.url, target, workload, ground, seed)
                except BadAnswer as error:
                    found[workload.name] = str(error)
                    wrong.append(f"{workload.name}: {error}")
    except LabError as error:
        wrong.append(str(error))
    return Verdict(target.name, "failed" if wrong else "verified", "\n".join(wrong) or None, found)


def _conform(url: str, target: Target, workload: Workload, ground: Ground | None, seed: int) -> str:
    """Verify one workload and say how it went; raises `BadAnswer` where it isn't as the target says."""
    exchanges = target.exchanges(workload, seed)
    inserts = sum(exchange.method == "POST" for exchange in exchanges)
    excuse = target.expected_failure(workload)
    try:
        with ground.counted(inserts) if ground else nullcontext():
            verify(url, exchanges)
    except BadAnswer:
        if excuse:
            return f"{AS_EXPECTED}: {excuse}"
        raise
    if excuse:
        raise BadAnswer(f"it works, but its file says that it fails: {excuse}")
    return "verified"


def cover(targets: Iterable[Target]) -> list[Target]:
    """Return few of `targets` in which all meetings that there are take place; published programs all.

    Every framework meets every server and every service, every store every model (on asyncio with either event loop). What a
    server and a store have to do with each other is the model; each two parts of all would be three times as many.
    """
    chosen: list[Target] = []
    met: set[tuple[str | None, ...]] = set()
    left = {target.name: (target, _meetings(target)) for target in targets}
    while left:
        target, meetings = max(left.values(), key=lambda each: len(each[1] - met))
        if not meetings - met:
            break
        chosen.append(target)
        met |= meetings
        del left[target.name]
    return chosen


def _meetings(target: Target) -> set[tuple[str | None, ...]]:
    if target.kind == "published":
        return {(target.name,)}
    framework, server, store = target.parts
    loop = server.description.loop if target.model == "asyncio" else None
    return {
        ("server", framework.name, server.name),
        ("service", framework.name, target.service),
        ("model", store.name, target.model, loop),
    }
