"""Workers with a blocking connection each. Keeps to the syntax of Python 2.7."""

import time

from feeding import PHASES, Preloaded, Published, Streaming, clock
from phases import GoneError, LacksError, RefusedError, cpu, tally
from sql import ELEMENT, Sql

ATTEMPTS = 3  # for a line whose connection was lost
RECONNECT_S = 3.0
NOWHERE = ("-",) * 5  # a geographical record that no data have


class Worker(object):
    """One connection, and what was done over it in a phase."""

    def __init__(self, job, driver):
        self._url = job["url"]
        self._driver = driver
        self._sql = Sql(driver.PLACEHOLDER)
        self._in_transaction = job["transaction"] == "line"
        self._statements = job["statements"]
        self.begin()

    def begin(self):
        """Begin a phase."""
        self.rows = 0
        self.empty_s = 0.0
        self.retried = 0
        self.lost = []

    def connect(self):
        """Connect; every statement commits by itself unless it is within a transaction."""
        self.connection = self._driver.connect(self._url, autocommit=True)
        self.check()

    def check(self):
        """Raise `LacksError` where the driver hasn't got what is asked for."""
        if self._statements in ("pipeline", "copy") and not hasattr(self.connection, self._statements):
            raise LacksError(self._statements)

    def warm_up(self):
        """Carry out each statement and take it back: the first ones of a new connection take many times as long."""
        self.connection.begin()
        self.connection.execute(self._sql.geo, NOWHERE)
        record = self.connection.execute(self._sql.record, NOWHERE)[0][0]
        self.connection.execute(self._sql.items, (NOWHERE[3],))
        self.connection.execute(self._sql.insert, (record, 1, 0))
        self.connection.rollback()

    def geo(self, line):
        """Insert the geographical record of a line."""
        self.connection.execute(self._sql.geo, line[1])

    def geo_is_loaded(self, line):
        """Tell whether the line was committed before its connection was lost."""
        return bool(self.connection.execute(self._sql.record, line[1]))

    def data(self, line):
        """Insert the values of a line, in a transaction where asked."""
        self._pending = None
        if self._in_transaction:
            self.connection.begin()
        _, geo, values = line
        record = self.connection.execute(self._sql.record, geo)[0][0]
        items = [row[0] for row in self.connection.execute(self._sql.items, (geo[3],))]
        self._insert(self.elements(record, items, values))
        if self._in_transaction:
            self.connection.commit()

    def elements(self, record, items, values):
        """Return the rows of a line."""
        if len(items) != len(values):
            raise ValueError("the dictionary has %d items for %d values" % (len(items), len(values)))
        self._pending = iter([(record, item, value) for item, value in zip(items, values)])
        return self._pending

    def _insert(self, rows):
        if self._statements == "single":
            execute, insert = self.connection.execute, self._sql.insert
            for row in rows:
                execute(insert, row)
        elif self._statements == "executemany":
            self.connection.executemany(self._sql.insert, list(rows))
        elif self._statements == "pipeline":
            self.connection.pipeline([(self._sql.insert, row) for row in rows])
        else:
            self.connection.copy("data_element", ELEMENT, list(rows))

    def data_is_loaded(self, line):
        """Tell whether the line was committed before its connection was lost."""
        record = self.connection.execute(self._sql.record, line[1])[0][0]
        return self.connection.execute(self._sql.loaded, (record,))[0][0] == len(line[2])

    def take(self, source):
        """Return the next line, ``None`` at the end; the time spent waiting for it is `empty_s`."""
        try:
            return source.take_now()
        except IndexError:
            since = clock()
            line = source.wait()
            self.empty_s += clock() - since
            return line

    def run(self, phase, source, times):
        """Load the lines of `source`. Raises `GoneError` where the database is gone."""
        load, is_loaded = getattr(self, phase), getattr(self, phase + "_is_loaded")
        whole = phase == "geo" or self._in_transaction  # a line is committed as a whole or not at all
        for line in iter(lambda: self.take(source), None):
            try:
                load(line)
                self.rows += rows_of(line)
            except Exception as error:
                self._again(line, load, is_loaded, whole, error)
            if times is not None:
                times.append(clock())

    def _again(self, line, load, is_loaded, whole, error):
        """Load a line again over a new connection; where that might load rows twice, report it."""
        self._reconnect(error)
        for _ in range(ATTEMPTS if whole else 0):
            try:
                if not is_loaded(line):
                    load(line)
                self.rows += rows_of(line)
                self.retried += 1
                return
            except Exception as again:
                error = again
                self._reconnect(error)
        self.lose(line, whole, error)

    def lose(self, line, whole, error):
        """Report a line that isn't loaded wholly; of the statement that failed it isn't known whether it was committed."""
        committed = 0
        if not whole and self._statements == "single" and self._pending is not None:
            committed = len(line[2]) - sum(1 for _ in self._pending) - 1
        self.rows += committed
        self.lost.append({"line": line[0], "committed": committed, "error": text(error)})

    def _reconnect(self, error):
        try:
            self.connection.close()
        except Exception:
            pass
        until = clock() + RECONNECT_S
        while True:
            try:
                return self.connect()
            except Exception as again:
                if clock() > until:
                    raise GoneError("%s, and then %s" % (text(error), text(again)))
                time.sleep(0.1)


class Group(object):
    """Workers in this process. ``together(functions)`` runs functions at a time; `sources` give the lines by phase."""

    def __init__(self, job, driver, connections, sources, together):
        self._job = job
        self._driver = driver
        self._workers = [Worker(job, driver) for _ in range(connections)]
        self._sources = sources
        self._together = together

    def connect(self):
        """Connect one after the other; return what the driver says of itself. Raises `RefusedError` at the first that fails."""
        for number, worker in enumerate(self._workers, 1):
            try:
                worker.connect()
            except LacksError:
                raise
            except Exception as error:
                raise RefusedError("connection %d: %s" % (number, text(error)))
        for worker in self._workers:
            worker.warm_up()
        return self._driver.ran(self._workers[0].connection)

    def run(self, phase):
        """Load all lines of a phase; return what `tally` returns."""
        source = self._sources[phase]
        gone, times = [], [] if self._job["feeder"] == "published" else None
        feeding = [lambda: _feed(source)] if isinstance(source, Published) else []

        def work(worker):
            try:
                worker.run(phase, source, times)
            except GoneError as error:
                gone.append(str(error))
                source.end()

        before = cpu()
        self._together([lambda worker=worker: work(worker) for worker in self._workers] + feeding)
        return tally(self._workers, before, gone[0] if gone else None, times or [])

    def close(self):
        """Close the connections."""
        for worker in self._workers:
            worker.connection.close()


def sources(job, feeder, waiting, adapted=lambda receiver: receiver):
    """Return what gives the lines of each phase; `adapted` makes a socket one of the model, `waiting` is for `Streaming`."""
    if job["feeder"] == "preloaded":
        return dict((phase, Preloaded(feeder.everything(phase))) for phase in PHASES)
    streams = dict((phase, Streaming(adapted(feeder.receivers[phase]), waiting)) for phase in PHASES)
    if job["feeder"] == "published":
        return dict((phase, Published(stream)) for phase, stream in streams.items())
    return streams


def _feed(source):
    while source.feed():
        time.sleep(0)


def rows_of(line):
    """Return how many rows a line is in its phase: its values, or its geographical record, for which it comes without."""
    return 1 if line[2] is None else len(line[2])


def text(error):
    return " ".join(("%s: %s" % (type(error).__name__, error)).split())
