"""Locust's `HttpUser`, which sends requests with Requests: what published measurements were mostly made with."""

from __future__ import annotations

from iobound.load import locust
from iobound.load.spec import LoadSpec
from iobound.records import LoadResult

NAME = "locust:HttpUser"


def run(spec: LoadSpec) -> LoadResult:
    """Offer one block of load; see `iobound.load.locust.run`."""
    return locust.run("HttpUser", spec)
