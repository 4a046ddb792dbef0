"""Locust's `FastHttpUser`, which sends requests with geventhttpclient."""

from __future__ import annotations

from iobound.load import locust
from iobound.load.spec import LoadSpec
from iobound.records import LoadResult

NAME = "locust:FastHttpUser"


def run(spec: LoadSpec) -> LoadResult:
    """Offer one block of load; see `iobound.load.locust.run`."""
    return locust.run("FastHttpUser", spec)
