"""``transfer(payer, payee)`` by strategy, as steps that whoever drives the connection carries out: the same under every model.

A strategy is a generator. It yields steps, each the name of a method with its arguments, and is sent what the method returned,
or has thrown into it what it raised. The methods are those of the connection (see the drivers), and ``acquire`` and
``release`` of the lock of this process. It returns whether the payer had enough.

All that take no precautions of another kind go about it alike (`move`): the payer's balance is read, checked and decreased in
place, which can overdraw; the payee's is read and written back increased, which can lose an update.
"""

from __future__ import annotations

from contextlib import suppress

AMOUNT = 1
MOST_LOOKS = 20  # at one account, within one transaction, before a transfer is given up

BEGIN, COMMIT, ROLLBACK = ("begin",), ("commit",), ("rollback",)
ACQUIRE, RELEASE = ("acquire",), ("release",)

DEADLOCK, SERIALIZATION, TIMEOUT, VERSION = "deadlock", "serialization-failure", "lock-timeout", "version-changed"
BUSY = "busy"  # SQLite doesn't let a transaction that has read wait for another that writes, since both could wait for ever
NOT_ALLOWED = "42501"
SQLSTATES = {"40P01": DEADLOCK, "40001": SERIALIZATION, "55P03": TIMEOUT}
MYSQL = {1213: DEADLOCK, 1020: SERIALIZATION, 1205: TIMEOUT}  # 1020: the row changed since the snapshot
SQLITE_BUSY, SQLITE_BUSY_SNAPSHOT = 5, 517


class Abort(Exception):
    """The strategy itself gives this attempt up: `kind` is why."""

    def __init__(self, kind):
        super().__init__(kind)
        self.kind = kind


class GivenUp(Exception):
    """The strategy has tried in vain for as often as it makes sense."""


def abort_of(error):
    """Return what kind of abort, after which a transaction may be tried again, `error` is; None for any other error."""
    if isinstance(error, Abort):
        return error.kind
    if error.args and error.args[0] in MYSQL:
        return MYSQL[error.args[0]]
    code = getattr(error, "sqlite_errorcode", None)
    if code:
        return SERIALIZATION if code == SQLITE_BUSY_SNAPSHOT else BUSY if code & 0xFF == SQLITE_BUSY else None
    return SQLSTATES.get(sqlstate(error))


def sqlstate(error):
    """Return the SQLSTATE that PostgreSQL gave an error, None where it didn't."""
    return getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)  # psycopg 3 and asyncpg; psycopg2


class Bank:
    """The statements of transfers in the dialect of one database, `service`.

    `placeholder` is the driver's. `pause_s` is how long the database sleeps between reading and writing; 0 is not at all.
    """

    def __init__(self, service, placeholder, pause_s=0.0):
        self.service = service
        self.placeholder = placeholder
        self.pause_s = pause_s

    def ask(self, sql, *parameters):
        """Execute a statement, with ``?`` for each parameter; return its rows."""
        if self.placeholder == "$1":
            first, *rest = sql.split("?")
            sql = first + "".join(f"${number}{text}" for number, text in enumerate(rest, 1))
        else:
            sql = sql.replace("?", self.placeholder)
        return (yield "execute", sql, parameters)

    def settings(self, job):
        """Set the session up; return what it then says of itself."""
        isolation, patience_s = job["isolation"], job["lock_timeout_s"]
        match self.service:
            case "postgresql":
                yield from self.ask(f"SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {isolation}")
                yield from self.ask(f"SET lock_timeout = '{patience_s * 1000:.0f}ms'")
                yield from self.tell_deadlocks_within(job["deadlock_timeout_s"])
                names = ["default_transaction_isolation", "deadlock_timeout", "synchronous_commit"]
                settings = {}
                for name in names:
                    [[settings[name]]] = yield from self.ask(f"SHOW {name}")
                return settings
            case "mariadb":
                level = "repeatable read" if isolation == "snapshot isolation" else isolation
                yield from self.ask(f"SET SESSION TRANSACTION ISOLATION LEVEL {level}")
                yield from self.ask(f"SET SESSION innodb_lock_wait_timeout = {patience_s:.0f}")
                if (yield from self.variables("innodb_snapshot_isolation")):
                    on = isolation == "snapshot isolation"
                    yield from self.ask(f"SET SESSION innodb_snapshot_isolation = {'ON' if on else 'OFF'}")
                names = ("tx_isolation", "transaction_isolation", "innodb_snapshot_isolation", "innodb_flush_log_at_trx_commit")
                return (yield from self.variables(*names))
        yield from self.ask(f"PRAGMA busy_timeout = {patience_s * 1000:.0f}")
        [[journal]] = yield from self.ask("PRAGMA journal_mode")
        return {"journal_mode": journal}

    def tell_deadlocks_within(self, seconds):
        """Have PostgreSQL look for deadlocks sooner than after its 1 s, where it lets us."""
        try:
            yield from self.ask(f"SET deadlock_timeout = '{seconds * 1000:.0f}ms'")
        except Exception as error:
            if sqlstate(error) != NOT_ALLOWED:
                raise

    def variables(self, *names):
        """Return those of the variables of MariaDB that it knows."""
        listed = ", ".join(f"'{name}'" for name in names)
        rows = yield from self.ask(f"SHOW VARIABLES WHERE variable_name IN ({listed})")
        return {row[0]: row[1] for row in rows}

    def balance(self, account, how=""):
        """Read a balance."""
        rows = yield from self.ask("SELECT balance FROM account WHERE id = ?" + how, account)
        return rows[0][0]

    def versioned(self, account):
        """Read a balance and the version of its row."""
        rows = yield from self.ask("SELECT balance, version FROM account WHERE id = ?", account)
        return rows[0][0], rows[0][1]

    def changed(self, sql, *parameters):
        """Execute an UPDATE; return how many rows it changed, for which MariaDB has to be asked."""
        if self.service == "mariadb":
            yield from self.ask(sql, *parameters)
            rows = yield from self.ask("SELECT ROW_COUNT()")
            return rows[0][0]
        rows = yield from self.ask(sql + " RETURNING id", *parameters)
        return len(rows)

    def pause(self):
        """Let the database sleep, so that others come between."""
        if not self.pause_s:
            return
        match self.service:
            case "postgresql":
                yield from self.ask(f"SELECT pg_sleep({self.pause_s})")
            case "mariadb":
                yield from self.ask(f"SELECT SLEEP({self.pause_s})")
            case _:  # it can't sleep, but it can count, which takes some 0.1 us a number
                numbers = f"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < {self.pause_s * 1e7:.0f})"
                yield from self.ask(f"{numbers} SELECT max(x) FROM n")


def move(bank, payer, payee, how=""):
    """Read both balances, then write them."""
    return (yield from written(bank, payer, payee, (yield from read(bank, (payer, payee), how))))


def read(bank, accounts, how=""):
    balances = {}
    for account in accounts:
        balances[account] = yield from bank.balance(account, how)
    yield from bank.pause()
    return balances


def written(bank, payer, payee, balances):
    if balances[payer] < AMOUNT:
        return False
    yield from bank.ask("UPDATE account SET balance = balance - ? WHERE id = ?", AMOUNT, payer)
    yield from bank.ask("UPDATE account SET balance = ? WHERE id = ?", balances[payee] + AMOUNT, payee)
    return True


def for_update_ordered(bank, payer, payee):
    """Lock both rows, that of the smaller key first, as they are read."""
    balances = yield from read(bank, sorted((payer, payee)), " FOR UPDATE")
    return (yield from written(bank, payer, payee, balances))


def for_update_unordered(bank, payer, payee):
    """Lock the payer's row, then the payee's: opposite transfers wait for each other."""
    return (yield from move(bank, payer, payee, " FOR UPDATE"))


def version_counter(bank, payer, payee):
    """Write each row only if its version is the one that was read, else give the attempt up."""
    seen = {}
    for account in (payer, payee):
        seen[account] = yield from bank.versioned(account)
    yield from bank.pause()
    if seen[payer][0] < AMOUNT:
        return False
    for account in sorted(seen):
        balance, version = seen[account]
        if not (yield from write_version(bank, account, balance + (-AMOUNT if account == payer else AMOUNT), version)):
            raise Abort(VERSION)
    return True


def version_counter_same_transaction(bank, payer, payee):
    """The same, but read again within the transaction: in a snapshot that shows the same old version for ever."""
    for account in sorted((payer, payee)):
        for _ in range(MOST_LOOKS):
            balance, version = yield from bank.versioned(account)
            yield from bank.pause()
            if account == payer and balance < AMOUNT:
                return False
            if (yield from write_version(bank, account, balance + (-AMOUNT if account == payer else AMOUNT), version)):
                break
        else:
            raise GivenUp(
                f"version {version} was still there after {MOST_LOOKS} looks in one transaction, and not to be written"
            )
    return True


def write_version(bank, account, balance, version):
    sql = "UPDATE account SET balance = ?, version = version + 1 WHERE id = ? AND version = ?"
    return (yield from bank.changed(sql, balance, account, version))


def atomic_update(bank, payer, payee):
    """Let the database compute and check: no balance is read. In key order, so that opposite transfers don't deadlock."""
    for account in sorted((payer, payee)):
        if account == payee:
            yield from bank.ask("UPDATE account SET balance = balance + ? WHERE id = ?", AMOUNT, payee)
        else:
            sql = "UPDATE account SET balance = balance - ? WHERE id = ? AND balance >= ?"
            if not (yield from bank.changed(sql, AMOUNT, payer, AMOUNT)):
                return False
    return True


def advisory_xact(bank, payer, payee):
    """Take an advisory lock for each account, which the database releases after the transaction's end."""
    for account in sorted((payer, payee)):
        yield from bank.ask("SELECT pg_advisory_xact_lock(?)", account)
    return (yield from move(bank, payer, payee))


def advisory_session(bank, payer, payee):
    """Take an advisory lock for each account and release it after the last statement, which is before the commit."""
    for account in sorted((payer, payee)):
        if bank.service == "postgresql":
            yield from bank.ask("SELECT pg_advisory_lock(?)", account)
        elif (yield from bank.ask("SELECT GET_LOCK(?, 2)", f"iobound-account-{account}"))[0][0] != 1:
            yield from unlocked(bank)
            raise Abort(TIMEOUT)
    try:
        done = yield from move(bank, payer, payee)
    except Exception:
        yield ROLLBACK  # a transaction that failed refuses to unlock
        yield from unlocked(bank)
        raise
    yield from unlocked(bank)
    return done


def unlocked(bank):
    postgresql = bank.service == "postgresql"
    yield from bank.ask("SELECT pg_advisory_unlock_all()" if postgresql else "SELECT RELEASE_ALL_LOCKS()")


def in_process_lock(bank, ledger, payer, payee):
    """Hold a lock of this process meanwhile; each statement commits by itself."""
    yield ACQUIRE
    try:
        return (yield from move(bank, payer, payee))
    finally:
        yield RELEASE


def autocommit(bank, ledger, payer, payee):
    """Each statement commits by itself."""
    return (yield from move(bank, payer, payee))


def retried(body, begin=BEGIN):
    """Return the strategy that carries `body` out in a transaction, and in a new one whenever that is aborted."""

    def transfer(bank, ledger, payer, payee):
        while True:
            try:
                yield begin
                done = yield from body(bank, payer, payee)
                yield COMMIT if done else ROLLBACK
                return done
            except Exception as error:
                yield from undone()
                ledger.aborted(error)

    return transfer


def undone():
    """Roll back whatever there is; a connection that can't do so has said more already."""
    with suppress(Exception):
        yield ROLLBACK


IMMEDIATE = ("execute", "BEGIN IMMEDIATE", ())

STRATEGIES = {
    "autocommit": autocommit,
    "in-process-lock": in_process_lock,
    "transaction": retried(move),
    "for-update-ordered": retried(for_update_ordered),
    "for-update-unordered": retried(for_update_unordered),
    "version-counter": retried(version_counter),
    "version-counter-same-transaction": retried(version_counter_same_transaction),
    "atomic-update": retried(atomic_update),
    "serializable-retry": retried(move),
    "advisory-xact": retried(advisory_xact),
    "advisory-session": retried(advisory_session),
    "begin-immediate": retried(move, IMMEDIATE),
    "shared-connection": retried(for_update_ordered),
}
