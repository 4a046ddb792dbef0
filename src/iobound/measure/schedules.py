"""Every schedule of two transfers, carried out on the real database by `iobound.race`: the table of schedule and outcome."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import iobound
from iobound.errors import Unavailable
from iobound.lab import accounts, scripts, transfers
from iobound.lab.environments import Environment
from iobound.lab.laboratory import Laboratory

PACKAGE = Path(iobound.__file__).parent
PROGRAM = PACKAGE / "measure" / "exploring.py"
TIMEOUT_S = 60.0

Table = dict[str, str]


@cache  # noise doesn't change what comes out, so once a run is enough
def explore(laboratory: Laboratory, database: str, isolation: str, model: str, strategy: str) -> Table:
    """Return the outcome of each schedule under `model`, written as the letters of the sessions in their order.

    Raises `Unavailable` where a package is missing beside iobound, `LabError` where the search fails.
    """
    url = laboratory.service(database).scratch("explored")
    accounts.make(url, [])
    job = {
        "url": url,
        "service": database,
        "isolation": isolation,
        "model": model,
        "strategy": strategy,
        "file": transfers.EXPLORED,
    }
    own = Environment("iobound", Path(sys.executable), {}, (PACKAGE.parent,))
    files = {"program.py": PROGRAM, **transfers.explored_files(database, model)}
    with scripts.launch(f"exploring {strategy} under {model}", files, own, job) as script:
        lines = list(script.lines(TIMEOUT_S))
    for line in lines:
        if "unavailable" in line:
            raise Unavailable(line["unavailable"])
    return {line["schedule"]: line["outcome"] for line in lines}
