"""Our own generator, in processes of its own."""

from __future__ import annotations

import msgspec

from iobound.errors import LabError
from iobound.load import workers
from iobound.load.checks import check
from iobound.load.engine import Interrupted
from iobound.load.merging import merge
from iobound.load.spec import LoadSpec
from iobound.records import LoadResult

NAME = "iobound"


def run(spec: LoadSpec) -> LoadResult:
    """Offer one block of load. Does all that a spec can ask for.

    Raises `UsageError` for what can't be offered, `LabError` where a process can't, `Interrupted` after Ctrl-C.
    """
    check(spec)
    shares = [_share(spec, part) for part in range(spec.processes)]
    try:
        result = merge(workers.carry_out(shares))
    except workers.Stopped as stopped:
        raise Interrupted(merge(stopped.parts)) from None
    if result is None:
        raise LabError("the load generator recorded nothing")
    return result


def _share(spec: LoadSpec, part: int) -> LoadSpec:
    """Return what process number `part` offers: its share of connections and rate, on its own core if there are enough."""
    parts = spec.processes
    if parts == 1:
        return spec
    connections = spec.connections // parts + (part < spec.connections % parts)
    return msgspec.structs.replace(
        spec,
        connections=connections,
        rate=spec.rate and spec.rate / parts,
        cpus=[spec.cpus[part % len(spec.cpus)]] if spec.cpus else None,
    )
