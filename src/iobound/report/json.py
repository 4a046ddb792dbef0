"""A judged run as one JSON object, for programs."""

from __future__ import annotations

from pathlib import PurePath

import msgspec

from iobound.records import Judgement, RunHeader


def render(header: RunHeader, judgement: Judgement, run: str | PurePath) -> str:
    """Return ``{"run", "verdict", "cells", …}`` for the run whose folder is `run`.

    Estimates are ``{"estimate", "low", "high"}``, what is absent is ``null``; `iobound.records` describes every field.
    A cell that isn't ``valid`` keeps the figures that were read, for whoever looks for the reason.
    """
    judged = {name: getattr(judgement, name) for name in judgement.__struct_fields__ if name != "scripts"}
    judged["cells"] = [*judgement.cells, *judgement.scripts]
    return msgspec.json.encode(
        {"run": str(run), "created": header.created, "command": header.command, **judged},
    ).decode()
