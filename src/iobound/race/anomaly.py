"""The name of what went wrong, after Adya, Liskov and O'Neil (ICDE 2000), from what sessions read and wrote when."""

from __future__ import annotations

from iobound.records.race import Execution


def name(execution: Execution) -> str | None:
    """Return the anomaly's name, ``None`` where what was observed doesn't show one."""
    return None
