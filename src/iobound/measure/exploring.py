"""A program of our own: carry out every schedule of two equal transfers, of which the payer has enough for one.

Reads one JSON object, the job, on standard input: `url`, `service`, `isolation`, `model`, `strategy`, and `file`, in which
``transfer(service, strategy, payer, payee)`` is. Prints a line of JSON for each schedule, with its outcome, or one that says
what is unavailable. It is a process of its own since what it explores is imported into it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from iobound.errors import Unavailable
from iobound.race.cases import Case, find
from iobound.race.explorer import Exploration
from iobound.race.search import Diverged, Prefix, Search
from iobound.records.race import Execution, letter

SETUP = "DELETE FROM account; INSERT INTO account VALUES (1, 1, 0); INSERT INTO account VALUES (2, 0, 0)"
REPEATS = 4


def main() -> None:
    """Explore, and print."""
    job = json.load(sys.stdin)
    call = (job["service"], job["strategy"], 1, 2)
    transfer = find(Path(job["file"]), "transfer")
    case = Case([transfer, transfer], [call, call], setup=SETUP, database=job["url"], model=job["model"], name="transfer")
    try:
        with Exploration(case) as exploration:
            exploration.isolate(job["isolation"])
            search = Search()
            while prefix := search.next():
                execution = carried_out(exploration, search, prefix)
                say({"schedule": "".join(map(letter, execution.schedule)), "outcome": outcome(execution)})
    except Unavailable as missing:
        say({"unavailable": str(missing)})


def carried_out(exploration: Exploration, search: Search, prefix: Prefix) -> Execution:
    """Carry out the schedule that begins with `prefix`; again where a session was late, so that it went another way."""
    for attempt in range(1 + REPEATS):
        trial = search.begin(prefix)
        try:
            execution = exploration.execute(trial.choose, with_state=True)
        except Diverged:
            if attempt == REPEATS:
                raise
        else:
            search.explored(trial)
            return execution
    raise AssertionError("not reached")


def outcome(execution: Execution) -> str:
    """Say what became of both transfers and of the accounts: ``paid, refused: 0, 1``."""
    ends = {True: "paid", False: "refused"}
    ended = [ends.get(each.returned, each.exception or each.ending) for each in execution.outcomes]
    balances = [row[1] or "" for row in (execution.state or {}).get("account", [])[1:]]
    return f"{', '.join(ended)}: {', '.join(balances)}"


def say(line: dict[str, str]) -> None:
    """Print a line of JSON."""
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
