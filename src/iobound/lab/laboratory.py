"""The laboratory of one run: placement, the services started so far, and what a target is told in its environment."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any, TypeVar

from iobound import dataset
from iobound.errors import LabError
from iobound.lab import cache, placement, service
from iobound.lab.network import upstream
from iobound.lab.network.messages import Upstream
from iobound.lab.network.relay import Relay
from iobound.lab.placement import Placement
from iobound.lab.service import Service, ServiceOptions
from iobound.records import Cell, ScriptCell

T = TypeVar("T")


class Laboratory:
    """Starts each service when it is first asked for, and stops all when it is left.

    `urls` names servers to use instead of starting one, by service name. A service that could not be started stays
    unavailable: asking again raises the same error. `jitter_ms` is by how much injected round-trip times vary.
    """

    def __init__(
        self,
        *,
        target_cores: int = 1,
        urls: dict[str, str] | None = None,
        durable: bool = False,
        jitter_ms: float = 0.0,
    ) -> None:
        self.placement: Placement = placement.place(target_cores, quota=placement.cpu_quota())
        self.services: dict[str, Service] = {}
        self._urls = urls or {}
        self._durable = durable
        self.jitter_ms = jitter_ms
        self._relays: dict[tuple[Upstream, float], Relay] = {}
        self._made: dict[str, Any] = {}
        self._missing: dict[str, LabError] = {}
        self._exits = ExitStack()

    def __enter__(self) -> Laboratory:
        return self

    def __exit__(self, *exception: object) -> None:
        self.services.clear()
        self._relays.clear()
        self._made.clear()
        self._exits.close()

    def service(self, name: str) -> Service:
        """Return the running service called `name`; raises `LabError` where it can't be had."""
        if name in self._missing:
            raise self._missing[name]
        if name not in self.services:
            options = ServiceOptions(url=self._urls.get(name), durable=self._durable, cpus=self.placement.services)
            try:
                self.services[name] = self._exits.enter_context(service.find(name).start(options))
            except LabError as error:
                self._missing[name] = error
                raise
        return self.services[name]

    def has(self, name: str) -> bool:
        """Tell whether the service called `name` can be had; raises its `LabError` where it was given by URL and can't."""
        try:
            self.service(name)
        except LabError:
            if name in self._urls:
                raise
            return False
        return True

    def first_available(self, names: list[str]) -> str:
        """Return the first of the alternatives `names` that can be had, the very first where none can."""
        return next((name for name in names if self.has(name)), names[0])

    def services_of(self, cells: Sequence[Cell | ScriptCell]) -> list[Service]:
        """Start the services that `cells` need and return those that can be had; their cells say why the others can't.

        Raises `LabError` where no cell is left to measure.
        """
        wanted = sorted({cell.service for cell in cells if cell.service})
        had = [name for name in wanted if self.has(name)]
        if not had and all(cell.service for cell in cells):
            raise self._missing[wanted[0]]
        return [self.services[name] for name in had]

    def check(self) -> None:
        """Raise `LabError` where a service or relay that was started doesn't answer any more, so that no target is blamed."""
        for name, used in self.services.items():
            try:
                used.info()
            except LabError as error:
                raise LabError(f"{name} died while it was measured on: {error}") from error
        for relay in self._relays.values():
            relay.traffic()

    def data_url(self, cell: Cell) -> str | None:
        """Return the URL of the data that `cell` works on, made where it isn't there yet; ``None`` without a service."""
        return None if cell.service is None else self.service(cell.service).dataset(cell.workload.rows)

    def once(self, key: str, make: Callable[[], AbstractContextManager[T]]) -> T:
        """Return what `make` makes, made when it is first asked for by this `key`; it is left together with the laboratory."""
        if key not in self._made:
            self._made[key] = self._exits.enter_context(make())
        made: T = self._made[key]
        return made

    def over(self, url: str, rtt_ms: float) -> str:
        """Return the URL by which a target reaches the service of `url` in a round-trip time of `rtt_ms`; 0 is without a relay.

        For everything that a target is told; iobound's own reading of the service goes the direct way.
        """
        return self.relay(url, rtt_ms).url(url) if rtt_ms else url

    def relay(self, url: str, rtt_ms: float) -> Relay:
        """Return the relay to the service of `url`, one for each round-trip time, started when it is first asked for.

        It runs on all cores but the target's, and ends with the laboratory. Raises `UsageError` for a service that no network
        leads to (SQLite), `LabError` where it doesn't come up.
        """
        to = upstream.of(url)
        if (to, rtt_ms) not in self._relays:
            started = Relay.start(to, rtt_ms, jitter_ms=self.jitter_ms, cpus=self.placement.others)
            self._relays[to, rtt_ms] = self._exits.enter_context(started)
        return self._relays[to, rtt_ms]

    def settings(self, cell: Cell) -> dict[str, str]:
        """Return the environment variables that tell the target of `cell` its data and its knobs."""
        settings = {"FILE_PATH": str(served_file()), **cell.settings}
        url = self.data_url(cell)
        if url is not None and cell.service is not None:
            variable = "DATABASE_URL" if self.service(cell.service).kind == "sql" else "CACHE_URL"
            settings[variable] = self.over(url, cell.rtt_ms)
        return settings


def served_file() -> Path:
    """Return the file that the ``file`` workload reads, written into the cache where it isn't there yet."""
    text = dataset.file_text()
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    path = cache.folder() / f"served-{digest}.txt"
    if not path.exists():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            fresh = path.with_suffix(f".{os.getpid()}")
            fresh.write_text(text)
            fresh.rename(path)
        except OSError as error:
            raise LabError(f"can't write {path} ({error.strerror}); set XDG_CACHE_HOME to a folder that is yours") from error
    return path
