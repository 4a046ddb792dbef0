"""The same as `explored`, awaited."""

from __future__ import annotations

import asyncio
import inspect
import math
import os

import driver
from awaiting import perform
from ledger import Ledger
from strategies import STRATEGIES, Bank

LOCK = asyncio.Lock()


async def transfer(service, strategy, payer, payee):
    """Transfer once, however often it has to be tried; return whether the payer had enough."""
    ledger = Ledger(0, [0])
    ledger.limit = math.inf
    connection = await driver.connect(os.environ["DATABASE_URL"])
    try:
        steps = STRATEGIES[strategy](Bank(service, driver.PLACEHOLDER), ledger, payer, payee)
        return await perform(steps, connection, LOCK)
    finally:
        closing = connection.close()
        if inspect.isawaitable(closing):
            await closing
