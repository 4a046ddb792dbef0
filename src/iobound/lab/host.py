"""Facts about the machine that a reader needs to weigh a number."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import psutil


def facts() -> dict[str, str]:
    """Return the machine's facts by name; one that can't be read is left out."""
    found = {
        "system": f"{platform.system()} {platform.release()}",
        "distribution": _distribution(),
        "processor": _cpuinfo("model name"),
        "hypervisor": "yes" if "hypervisor" in (_cpuinfo("flags") or "").split() else None,
        "cores online": str(os.cpu_count()),
        "memory": f"{psutil.virtual_memory().total / 2**30:.0f} GiB",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "frequency governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "turbo off": _read("/sys/devices/system/cpu/intel_pstate/no_turbo"),
        "clock source": _read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "last-level cache": _last_level_cache(),
    }
    return {name: value for name, value in found.items() if value}


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None


def _cpuinfo(field: str) -> str | None:
    for line in (_read("/proc/cpuinfo") or "").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == field:
            return value.strip()
    return None


def _distribution() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None


def _last_level_cache() -> str | None:
    sizes = [_read(str(path)) for path in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"))]
    return next((size for size in reversed(sizes) if size), None)
