"""What one worker does, and what it writes down of it."""

from __future__ import annotations

import random
from collections import Counter
from time import monotonic as clock

from strategies import STRATEGIES, GivenUp, abort_of, undone

VAULT = 0  # the account that all others are emptied into
MOST_ERRORS = 50  # after which a worker stops, for a connection that is of no use any more


class TooLate(Exception):
    """A transfer was aborted when there was no time left to try it again."""


class Ledger:
    """The transfers that one worker was told are committed, and what became of the others.

    `board` is common to all workers: each says there between which accounts it is transferring, a bit an account.
    """

    def __init__(self, number, board):
        self.number = number
        self.board = board
        self.acknowledged = Counter()
        self.timed = self.refused = self.retries = self.given_up = self.contended = 0
        self.aborts = Counter()
        self.errors = Counter()
        self.done = False
        self.limit = 0.0

    def aborted(self, error):
        """Count an abort after which the transfer is tried again; raise `error` where it is none, or it is too late."""
        kind = abort_of(error)
        if kind is None:
            raise error
        self.aborts[kind] += 1
        if clock() > self.limit:
            raise TooLate from error
        self.retries += 1

    def usable(self):
        """Tell whether the connection hasn't failed too often to go on."""
        return self.errors.total() < MOST_ERRORS

    def report(self):
        """Return what is to be printed."""
        return {
            "worker": self.number,
            "acknowledged": [[payer, payee, count] for (payer, payee), count in sorted(self.acknowledged.items())],
            "timed": self.timed,
            "refused": self.refused,
            "retries": self.retries,
            "given_up": self.given_up,
            "contended": self.contended,
            "aborts": self.aborts,
            "errors": self.errors,
            "done": self.done,
        }


def work(bank, ledger, job):
    """Yield the steps of a worker: transfers between any two accounts for `seconds`, then all accounts emptied into the vault.

    Emptied by all workers at once, for then nothing that comes in hides that an account was overdrawn.
    """
    transfer = STRATEGIES[job["strategy"]]
    draw = random.Random(f"{job['seed']} {ledger.number}")
    accounts = range(1, job["accounts"] + 1)
    until = clock() + job["seconds"]
    ledger.limit = until + job["emptying_s"]
    while clock() < until and ledger.usable():
        made = yield from attempt(bank, ledger, transfer, *draw.sample(accounts, 2))
        if made and clock() < until:
            ledger.timed += 1
    for account in accounts:
        while clock() < ledger.limit and ledger.usable():
            if not (yield from attempt(bank, ledger, transfer, account, VAULT)):
                break
    ledger.done = True


def attempt(bank, ledger, transfer, payer, payee):
    """Transfer once; return whether the database acknowledged it."""
    mine = 1 << payer | 1 << payee
    ledger.contended += any(theirs & mine for theirs in ledger.board)
    ledger.board[ledger.number] = mine
    try:
        made = yield from transfer(bank, ledger, payer, payee)
    except TooLate:
        pass
    except GivenUp:
        ledger.given_up += 1
    except Exception as error:
        ledger.errors[f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"] += 1
        yield from undone()
    else:
        if made:
            ledger.acknowledged[payer, payee] += 1
        else:
            ledger.refused += 1
        return made
    finally:
        ledger.board[ledger.number] = 0
    return False
