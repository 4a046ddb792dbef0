"""A transfer on a connection of its own, to be explored: see `iobound race`."""

from __future__ import annotations

import math
import os
import threading

import driver
from blocking import perform
from ledger import Ledger
from strategies import STRATEGIES, Bank

LOCK = threading.Lock()


def transfer(service, strategy, payer, payee):
    """Transfer once, however often it has to be tried; return whether the payer had enough."""
    ledger = Ledger(0, [0])
    ledger.limit = math.inf
    connection = driver.connect(os.environ["DATABASE_URL"])
    try:
        return perform(STRATEGIES[strategy](Bank(service, driver.PLACEHOLDER), ledger, payer, payee), connection, LOCK)
    finally:
        connection.close()
