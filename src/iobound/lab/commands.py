"""A user's own command as a target: started with its port in ``{port}``, asked for the user's paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from iobound.lab.targets import RunningTarget, launch_command
from iobound.load.spec import Exchange
from iobound.records import Workload


@dataclass(frozen=True)
class CommandTarget:
    """A command and what it is asked. `service` is what its ``DATABASE_URL`` or ``CACHE_URL`` leads to, if anything."""

    name: str
    argv: Sequence[str]
    asked: Sequence[Exchange]
    service: str | None = None
    environment: str | None = None

    def unavailable(self) -> str | None:
        """Return ``None``: whether the command works shows when it is started."""
        return None

    def exchanges(self, workload: Workload, seed: int) -> list[Exchange]:
        """Return what the user asks."""
        return list(self.asked)

    def expected_failure(self, workload: Workload) -> str | None:
        """Return ``None``: nothing is expected to fail."""
        return None

    def launch(self, settings: Mapping[str, str], cpus: Sequence[int]) -> RunningTarget:
        """Start the command on `cpus`."""
        return launch_command(self.argv, settings=settings, cpus=cpus)
