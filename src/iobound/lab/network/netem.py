"""Whether the kernel could delay packets itself (``tc netem`` in a network namespace): looked for, and told by ``doctor``."""

from __future__ import annotations

import os
import shutil
import subprocess

TRY_S = 5.0


def unavailable() -> str | None:
    """Say why not, by trying it in a namespace that ends with the attempt; ``None`` where it can."""
    missing = [name for name in ("unshare", "tc") if not shutil.which(name)]
    if missing:
        return f"{' and '.join(missing)} isn't on PATH"
    namespace = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--net"]
    attempt = [*namespace, "tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"]
    try:
        tried = subprocess.run(attempt, capture_output=True, text=True, timeout=TRY_S, check=False)
    except subprocess.TimeoutExpired:
        return "trying it took too long"
    return None if tried.returncode == 0 else " ".join(tried.stderr.split()) or f"tc ended with {tried.returncode}"
