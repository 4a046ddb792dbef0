"""A judged run as one JSON object, for programs."""

from __future__ import annotations

from pathlib import PurePath

import msgspec

from iobound.records import Judgement, RunHeader

WALKED = ("direct", "steps", "product", "interaction", "named")


def render(header: RunHeader, judgement: Judgement, run: str | PurePath) -> str:
    """Return ``{"run", "verdict", "cells", …}`` for the run whose folder is `run`; for a single walk what it found as well.

    Estimates are ``{"estimate", "low", "high"}``, what is absent is ``null``; `iobound.records` describes every field.
    A cell that isn't ``valid`` keeps the figures that were read, for whoever looks for the reason.
    """
    judged = {name: getattr(judgement, name) for name in judgement.__struct_fields__ if name != "scripts"}
    judged["cells"] = [*judgement.cells, *judgement.scripts]
    if len(judgement.waterfalls) == 1:
        judged |= {name: getattr(judgement.waterfalls[0], name) for name in WALKED}
    about = {"run": str(run), "created": header.created, "command": header.command}
    return msgspec.json.encode({**about, **judged}).decode()
