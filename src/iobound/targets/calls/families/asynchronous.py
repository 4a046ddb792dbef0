# /// script
# requires-python = ">=3.6"
# dependencies = []
#
# [tool.iobound]
# kind = "primitives"
# title = "coroutines and the event loop"
# loops = ["asyncio", "uvloop"]
# ///
"""What asyncio programs do all the time, on any event loop. Python 3.6 and later."""

import asyncio
import socket
from timeit import default_timer as clock

import peer

try:
    from contextvars import ContextVar
except ImportError:  # Python 3.6
    ContextVar = None


async def _nothing():
    return 5


def _callback():
    pass


async def await_coroutine(times):
    """`await` of a coroutine that returns at once: made, run and finished without the event loop."""
    started = clock()
    for _ in times:
        await _nothing()
    return clock() - started


async def await_ready_future(times):
    """`await` of a future that has its result already."""
    future = asyncio.get_event_loop().create_future()
    future.set_result(None)
    started = clock()
    for _ in times:
        await future
    return clock() - started


async def await_pending_future(times):
    """`await` of a new future that a callback resolves in the next turn of the event loop."""
    loop = asyncio.get_event_loop()
    started = clock()
    for _ in times:
        future = loop.create_future()
        loop.call_soon(future.set_result, None)
        await future
    return clock() - started


async def create_task(times):
    """A task made of a coroutine that returns at once, and awaited."""
    loop = asyncio.get_event_loop()
    started = clock()
    for _ in times:
        await loop.create_task(_nothing())
    return clock() - started


async def gather(times):
    """`asyncio.gather` of two coroutines that return at once, awaited."""
    started = clock()
    for _ in times:
        await asyncio.gather(_nothing(), _nothing())
    return clock() - started


async def call_soon(times):
    """A callback scheduled by `call_soon` and run, many in one turn of the event loop."""
    loop = asyncio.get_event_loop()
    started = clock()
    for _ in times:
        loop.call_soon(_callback)
    await asyncio.sleep(0)
    return clock() - started


async def loop_turn(times):
    """One turn of the event loop in which only this task is resumed: `asyncio.sleep(0)`."""
    started = clock()
    for _ in times:
        await asyncio.sleep(0)
    return clock() - started


async def timer(times):
    """A timer that is due at once: scheduled by `call_later`, fired, and the future that it resolves awaited."""
    loop = asyncio.get_event_loop()
    started = clock()
    for _ in times:
        future = loop.create_future()
        loop.call_later(1e-9, future.set_result, None)
        await future
    return clock() - started


async def timer_cancelled(times):
    """A timer of a minute scheduled by `call_later` and cancelled: what a timeout costs that isn't reached."""
    loop = asyncio.get_event_loop()
    started = clock()
    for _ in times:
        loop.call_later(60, _callback).cancel()
    return clock() - started


async def run_in_executor(times):
    """A function that does nothing, run in a thread by `run_in_executor` and awaited."""
    loop = asyncio.get_event_loop()
    started = clock()
    for _ in times:
        await loop.run_in_executor(None, _callback)
    return clock() - started


if hasattr(asyncio, "to_thread"):  # from Python 3.9 on

    async def to_thread(times):
        """A function that does nothing, run by `asyncio.to_thread` and awaited."""
        started = clock()
        for _ in times:
            await asyncio.to_thread(_callback)
        return clock() - started


async def _send_back(queue, back):
    while True:
        await back.put(await queue.get())


async def queue_hop(times):
    """An item passed to another task by an `asyncio.Queue`: half of the way there and back."""
    queue, back = asyncio.Queue(), asyncio.Queue()
    other = asyncio.get_event_loop().create_task(_send_back(queue, back))
    started = clock()
    for _ in times:
        await queue.put(None)
        await back.get()
    taken = clock() - started
    other.cancel()
    await asyncio.wait([other])
    return taken / 2


async def async_lock(times):
    """An `asyncio.Lock` that nobody holds, acquired and released by `async with`."""
    lock = asyncio.Lock()
    started = clock()
    for _ in times:
        async with lock:
            pass
    return clock() - started


class _Context:
    async def __aenter__(self):
        return self

    async def __aexit__(self, *exception):
        return None


async def async_with(times):
    """`async with` of an object whose two methods return at once."""
    context = _Context()
    started = clock()
    for _ in times:
        async with context:
            pass
    return clock() - started


class _Steps:
    def __init__(self, times):
        self.times = iter(times)

    def __aiter__(self):
        return self

    async def __anext__(self):
        for _ in self.times:
            return
        raise StopAsyncIteration


async def async_for(times):
    """One step of `async for` over an object whose `__anext__` returns at once."""
    steps = _Steps(times)
    started = clock()
    async for _ in steps:
        pass
    return clock() - started


async def _generate(times):
    for _ in times:
        yield


async def async_generator_step(times):
    """One step of `async for` over an asynchronous generator that doesn't wait."""
    steps = _generate(times)
    started = clock()
    async for _ in steps:
        pass
    return clock() - started


if ContextVar is not None:

    async def context_variable(times):
        """A context variable set, read and reset."""
        variable = ContextVar("variable")
        started = clock()
        for _ in times:
            token = variable.set(None)
            variable.get()
            variable.reset(token)
        return clock() - started


async def socket_round_trip(times):
    """One byte to an echoing process over loopback TCP and back: `sock_sendall` and `sock_recv` of the event loop."""
    loop = asyncio.get_event_loop()
    with peer.echo() as address:
        connection = socket.create_connection(address)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setblocking(False)
        await _there_and_back(loop, connection, [None])  # the first waits for the other end to start
        taken = await _there_and_back(loop, connection, times)
        connection.close()
    return taken


async def _there_and_back(loop, connection, times):
    started = clock()
    for _ in times:
        await loop.sock_sendall(connection, b"x")
        await loop.sock_recv(connection, 1)
    return clock() - started


async def stream_round_trip(times):
    """One byte to an echoing process over loopback TCP and back: `write` and `readexactly` of asyncio's streams."""
    with peer.echo() as address:
        reader, writer = await asyncio.open_connection(*address)
        await _echoed(reader, writer, [None])  # the first waits for the other end to start
        taken = await _echoed(reader, writer, times)
        writer.close()
        await asyncio.sleep(0)
    return taken


async def _echoed(reader, writer, times):
    started = clock()
    for _ in times:
        writer.write(b"x")
        await reader.readexactly(1)
    return clock() - started
