"""Explore every interleaving of transactions on the real database.

from iobound import race

report = race.explore(redeem, sessions=[(7,), (8,)], setup=reset, invariant=lambda db: db.scalar("select …"))
report.assert_holds()
"""

from __future__ import annotations

from iobound.race.cases import Case, case
from iobound.race.explorer import Report, Violated, explore
from iobound.race.replaying import replay

__all__ = ["Case", "Report", "Violated", "case", "explore", "replay"]
