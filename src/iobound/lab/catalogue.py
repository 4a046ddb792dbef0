"""The targets that can be launched, found by their files: web targets composed of parts, and published programs.

A composed target is called ``framework/server`` or ``framework/server/store``. A published program is called by its file;
``@postgresql`` after it chooses a service that isn't its first, ``@3.8`` another interpreter that it has a lock for.
What the files say of themselves is described in `iobound.lab.parts`.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, Literal

import iobound
from iobound import workloads
from iobound.errors import LabError, UsageError, nearest
from iobound.lab import environments, interpreters, outside, service, targets
from iobound.lab.parts import Framework, Kind, Knob, Model, Part, Published, Server, Store, read
from iobound.load.spec import Exchange
from iobound.records import Workload

FOLDER = Path(iobound.__file__).parent / "targets"
NO_SERVICE = "none"  # what the stores that stand in for a missing one call their service

Parts = tuple[Part[Framework], Part[Server], Part[Store]]


@dataclass(frozen=True)
class Target(ABC):
    """A program that can be launched: `program` is run beside `files`, each linked to under its key.

    `service` is the one it needs, `environment` the lock it runs in, `knobs` the settings that change how it runs.
    """

    kind: ClassVar[Literal["composed", "published"]]

    name: str
    parts: tuple[Part[Any], ...]
    files: Mapping[str, Path]
    program: str
    service: str | None
    model: Model
    environment: str
    knobs: Sequence[Knob]

    @abstractmethod
    def serves(self, workload: Workload) -> bool:
        """Tell whether the target has an answer to `workload`."""

    @abstractmethod
    def exchanges(self, workload: Workload, seed: int) -> list[Exchange]:
        """Return the exchanges of `workload`, the same for the same seed."""

    def expected_failure(self, workload: Workload) -> str | None:
        """Say why the target, as it was published, answers `workload` wrongly; ``None`` where it should be right."""
        return None

    def labels(self, packages: Mapping[str, str]) -> dict[str, str]:
        """Return what is known of how it runs, with versions among the installed `packages`, beside what it says itself."""
        return {}

    def unavailable(self) -> str | None:
        """Say what this machine lacks for the target, services apart, and what installs it; ``None`` where nothing."""
        version = environments.python_of(self.environment)
        if version is not None and (missing := interpreters.missing(version)):
            return f"{self.name} needs it: {missing}"
        major, minor = map(int, version.split(".")) if version else sys.version_info[:2]
        for part in self.parts:
            if not part.runs_on((major, minor)):
                return f"{part.path.name} needs Python {part.requires_python}; {self.name} would run on {major}.{minor}"
        return None

    def launch(self, settings: Mapping[str, str], cpus: Sequence[int]) -> targets.RunningTarget:
        """Start the target on `cpus`, told its `settings`, and wait until it answers; raises `LabError`."""
        return targets.launch(self, settings=settings, cpus=cpus)


class Composed(Target):
    """A framework on a server over a store: it answers whatever its service allows."""

    kind = "composed"

    def serves(self, workload: Workload) -> bool:
        """Tell whether the target has an answer to `workload`."""
        need = workloads.need(workload)
        if need == "nothing" or self.service is None:
            return need == "nothing"
        used = service.find(self.service)
        return used.sleeps if need == "sleeping-sql" else used.kind == need

    def exchanges(self, workload: Workload, seed: int) -> list[Exchange]:
        """Return the exchanges of `workload`, the same for the same seed."""
        return workloads.exchanges(workload, seed)


@dataclass(frozen=True)
class AsPublished(Target):
    """A published program, with paths and answers of its own."""

    kind = "published"

    description: Published

    def serves(self, workload: Workload) -> bool:
        """Tell whether the target has an answer to `workload`."""
        return workload.name in self.description.workloads

    def exchanges(self, workload: Workload, seed: int) -> list[Exchange]:
        """Return the one exchange of `workload`."""
        return [self.description.workloads[workload.name].exchange(workload.rows)]

    def expected_failure(self, workload: Workload) -> str | None:
        """Say why the target, as it was published, answers `workload` wrongly; ``None`` where it should be right."""
        return self.description.workloads[workload.name].expected_failure

    def labels(self, packages: Mapping[str, str]) -> dict[str, str]:
        """Return what its source says of how it runs, with versions among the installed `packages`."""
        (program,), about = self.parts, self.description
        versions = outside.versions(program.dependencies, packages)
        others = [f"{name} {version}" for name, version in versions.items() if name not in about.drivers.values()]
        driver = about.drivers.get(self.service or "")
        reached = {"driver": f"{driver} {versions[driver]}"} if driver else {}
        return {"python": packages["python"], "packages": ", ".join(others), **reached, **about.labels}


class Catalogue:
    """All targets made of the files in some folders, each laid out like `targets/`."""

    def __init__(self, *folders: Path) -> None:
        self.frameworks = _read_all(folders, "frameworks", Framework)
        self.servers = _read_all(folders, "servers", Server)
        self.stores = _read_all(folders, "stores", Store)
        self.published = _read_all(folders, "published", Published)

    def targets(self) -> Iterator[Target]:
        """Yield every combination of parts that fits, then the published programs with each of their services and locks."""
        for parts in product(self.frameworks.values(), self.servers.values(), self.stores.values()):
            if _misfit(*parts) is None:
                yield _compose(*parts)
        for program in self.published.values():
            yield from _versions(program)

    def names(self) -> list[str]:
        """Return the names of all targets."""
        return [target.name for target in self.targets()]

    def find(self, name: str) -> Target:
        """Return a target by its name.

        Raises `UsageError` for an unknown one, with the nearest names, or for parts that don't fit, with why and what would.
        """
        match name.split("/"):
            case [program]:
                return self._find_published(program)
            case [framework, server, *store] if len(store) < 2:
                return self._find_composed(name, framework, server, *store)
        raise UsageError(f"target {name!r} has too many parts; write framework/server or framework/server/store")

    def compose(self, framework: str, server: str, store: str) -> Composed:
        """Return the target of three parts, the store that stands in where there is none among them; raises `UsageError`."""
        parts = self.frameworks[framework], self.servers[server], self.stores[store]
        misfit = _misfit(*parts)
        if misfit:
            raise UsageError(f"{framework}/{server}/{store}: {misfit}")
        return _compose(*parts)

    def _find_published(self, name: str) -> Target:
        program = self.published.get(name.partition("@")[0])
        if program:
            versions = {target.name: target for target in _versions(program)}
            if name in versions:
                return versions[name]
            raise UsageError(nearest(name, list(versions), "version of a published program"))
        if name in self.frameworks:
            servers = [server.name for server in self.servers.values() if _speaks(self.frameworks[name], server)]
            raise UsageError(f"target {name!r} lacks a server; it is one of {', '.join(f'{name}/{s}' for s in servers)}")
        raise UsageError(nearest(name, self.names(), "target"))

    def _find_composed(self, name: str, framework_name: str, server_name: str, store_name: str | None = None) -> Target:
        framework = _pick(self.frameworks, framework_name, "framework")
        server = _pick(self.servers, server_name, "server")
        store = _pick(self.stores, store_name, "store") if store_name else self._stand_in(framework)
        misfit = _misfit(framework, server, store)
        if misfit is None:
            return _compose(framework, server, store)
        fitting = [
            *((framework, other, store) for other in self.servers.values()),
            *((framework, server, other) for other in self.stores.values() if _service(other) == _service(store)),
            *((other, server, store) for other in self.frameworks.values()),
        ]
        names = [_compose(*parts).name for parts in fitting if _misfit(*parts) is None]
        raise UsageError(f"target {name}: {misfit}" + (f"; what fits: {', '.join(names)}" if names else ""))

    def _stand_in(self, framework: Part[Framework]) -> Part[Store]:
        """Return the store that stands in where `framework` has none."""
        calls = framework.description.calls
        return next(s for s in self.stores.values() if _service(s) is None and s.description.calls == calls)


def _read_all(folders: Sequence[Path], name: str, kind: type[Kind]) -> dict[str, Part[Kind]]:
    found: dict[str, Part[Kind]] = {}
    for path in sorted(path for folder in folders for path in (folder / name).glob("*.py")):
        if path.stem in found:
            raise LabError(f"{path} has the same name as {found[path.stem].path}; rename one of them")
        found[path.stem] = read(path, kind)
    return found


def _pick(parts: dict[str, Part[Kind]], name: str, what: str) -> Part[Kind]:
    if name not in parts:
        raise UsageError(nearest(name, list(parts), what))
    return parts[name]


def _service(store: Part[Store]) -> str | None:
    return None if store.description.service == NO_SERVICE else store.description.service


def _speaks(framework: Part[Framework], server: Part[Server]) -> bool:
    return framework.description.interface in server.description.accepts


def _model(framework: Part[Framework], server: Part[Server]) -> Model:
    return framework.description.model or server.description.model


def _misfit(framework: Part[Framework], server: Part[Server], store: Part[Store]) -> str | None:
    """Say why these parts don't work together; ``None`` where they do."""
    if not _speaks(framework, server):
        return f"{framework.name} speaks {framework.description.interface}, {server.name} serves {_list(server)}"
    if framework.description.calls != store.description.calls:
        return f"{framework.name} has {framework.description.calls} handlers, {store.name} is {store.description.calls}"
    return store.description.refuses.get(_model(framework, server))


def _list(server: Part[Server]) -> str:
    return " and ".join(server.description.accepts)


def _compose(framework: Part[Framework], server: Part[Server], store: Part[Store]) -> Composed:
    service_name = _service(store)
    pool: list[Knob] = ["POOL_SIZE"] if service_name else []
    return Composed(
        name="/".join([framework.name, server.name, *([store.name] if service_name else [])]),
        parts=(framework, server, store),
        files={"framework.py": framework.path, "server.py": server.path, "store.py": store.path},
        program="server.py",
        service=service_name,
        model=_model(framework, server),
        environment="catalogue",
        knobs=sorted({*framework.description.knobs, *server.description.knobs, *store.description.knobs, *pool}),
    )


def _versions(program: Part[Published]) -> Iterator[AsPublished]:
    """Yield a published program with each of its services, in each environment of its own."""
    about = program.description
    for number, service_name in enumerate(about.services or [None]):
        for environment in environments.variants(about.environment):
            python = environments.python_of(environment)
            yield AsPublished(
                name="@".join(
                    [program.name, *([service_name] if number and service_name else []), *([python] if python else [])]
                ),
                parts=(program,),
                files={program.path.name: program.path},
                program=program.path.name,
                service=service_name,
                model=about.model,
                environment=environment,
                knobs=[],
                description=about,
            )


@cache
def own() -> Catalogue:
    """Return the catalogue that iobound comes with."""
    return Catalogue(FOLDER)


def names() -> list[str]:
    """Return the names of all targets that iobound comes with."""
    return own().names()


def find(name: str) -> Target:
    """Return a target that iobound comes with by its name; see `Catalogue.find`."""
    return own().find(name)
