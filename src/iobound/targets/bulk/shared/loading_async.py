"""Workers with an asynchronous connection each: `loading` with ``await``. Keeps to the syntax of Python 3.6."""

import asyncio

import driver
import loading
from feeding import MESSAGE, Published, clock, line_of
from loading import ATTEMPTS, NOWHERE, RECONNECT_S, rows_of, text
from phases import GoneError, LacksError, RefusedError, cpu, tally
from sql import ELEMENT


class Worker(loading.Worker):
    """One connection, and what was done over it in a phase."""

    async def connect(self):
        self.connection = await driver.connect(self._url, autocommit=True)
        self.check()

    async def warm_up(self):
        await self.connection.begin()
        await self.connection.execute(self._sql.geo, NOWHERE)
        record = (await self.connection.execute(self._sql.record, NOWHERE))[0][0]
        await self.connection.execute(self._sql.items, (NOWHERE[3],))
        await self.connection.execute(self._sql.insert, (record, 1, 0))
        await self.connection.rollback()

    async def geo(self, line):
        await self.connection.execute(self._sql.geo, line[1])

    async def geo_is_loaded(self, line):
        return bool(await self.connection.execute(self._sql.record, line[1]))

    async def data(self, line):
        self._pending = None
        if self._in_transaction:
            await self.connection.begin()
        _, geo, values = line
        record = (await self.connection.execute(self._sql.record, geo))[0][0]
        items = [row[0] for row in await self.connection.execute(self._sql.items, (geo[3],))]
        await self._insert(self.elements(record, items, values))
        if self._in_transaction:
            await self.connection.commit()

    async def _insert(self, rows):
        if self._statements == "single":
            execute, insert = self.connection.execute, self._sql.insert
            for row in rows:
                await execute(insert, row)
        elif self._statements == "executemany":
            await self.connection.executemany(self._sql.insert, list(rows))
        elif self._statements == "pipeline":
            await self.connection.pipeline([(self._sql.insert, row) for row in rows])
        else:
            await self.connection.copy("data_element", ELEMENT, list(rows))

    async def data_is_loaded(self, line):
        record = (await self.connection.execute(self._sql.record, line[1]))[0][0]
        return (await self.connection.execute(self._sql.loaded, (record,)))[0][0] == len(line[2])

    async def take(self, source, waiting):
        try:
            return source.take_now()
        except IndexError:
            since = clock()
            line = await _wait(source, waiting)
            self.empty_s += clock() - since
            return line

    async def run(self, phase, source, times, waiting):
        load, is_loaded = getattr(self, phase), getattr(self, phase + "_is_loaded")
        whole = phase == "geo" or self._in_transaction
        while True:
            line = await self.take(source, waiting)
            if line is None:
                return
            try:
                await load(line)
                self.rows += rows_of(line)
            except Exception as error:
                await self._again(line, load, is_loaded, whole, error)
            if times is not None:
                times.append(clock())

    async def _again(self, line, load, is_loaded, whole, error):
        await self._reconnect(error)
        for _ in range(ATTEMPTS if whole else 0):
            try:
                if not await is_loaded(line):
                    await load(line)
                self.rows += rows_of(line)
                self.retried += 1
                return
            except Exception as again:
                error = again
                await self._reconnect(error)
        self.lose(line, whole, error)

    async def _reconnect(self, error):
        try:
            await self.connection.close()
        except Exception:
            pass
        until = clock() + RECONNECT_S
        while True:
            try:
                return await self.connect()
            except Exception as again:
                if clock() > until:
                    raise GoneError("%s, and then %s" % (text(error), text(again)))
                await asyncio.sleep(0.1)


class Group:
    """Workers in this process, each a task on `loop`; `sources` give the lines by phase."""

    def __init__(self, job, connections, sources, loop):
        self._job = job
        self._workers = [Worker(job, driver) for _ in range(connections)]
        self._sources = sources
        self._loop = loop
        asyncio.set_event_loop(loop)

    def connect(self):
        """Connect one after the other; return what the driver says of itself. Raises `RefusedError` at the first that fails."""
        self._loop.run_until_complete(self._connect())
        return dict(driver.ran(self._workers[0].connection), loop=type(self._loop).__module__.split(".")[0])

    async def _connect(self):
        for number, worker in enumerate(self._workers, 1):
            try:
                await worker.connect()
            except LacksError:
                raise
            except Exception as error:
                raise RefusedError("connection %d: %s" % (number, text(error)))
        for worker in self._workers:
            await worker.warm_up()

    def run(self, phase):
        """Load all lines of a phase; return what `tally` returns."""
        return self._loop.run_until_complete(self._run(phase))

    async def _run(self, phase):
        source = self._sources[phase]
        gone, times = [], [] if self._job["feeder"] == "published" else None
        waiting = asyncio.Lock()

        async def work(worker):
            try:
                await worker.run(phase, source, times, waiting)
            except GoneError as error:
                gone.append(str(error))
                source.end()

        before = cpu()
        feeding = [_feed(source)] if isinstance(source, Published) else []
        await asyncio.gather(*([work(worker) for worker in self._workers] + feeding))
        return tally(self._workers, before, gone[0] if gone else None, times or [])

    def close(self):
        """Close the connections."""
        self._loop.run_until_complete(self._close())

    async def _close(self):
        for worker in self._workers:
            await worker.connection.close()


async def _wait(source, waiting):
    if isinstance(source, Published):
        while True:
            await asyncio.sleep(0)
            try:
                return source.take_now()
            except IndexError:
                pass
    async with waiting:
        source.receiver.setblocking(False)
        return line_of(await asyncio.get_event_loop().sock_recv(source.receiver, MESSAGE))


async def _feed(source):
    while source.feed():
        await asyncio.sleep(0)
