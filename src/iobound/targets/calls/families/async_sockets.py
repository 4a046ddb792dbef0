# /// script
# requires-python = ">=3.6"
# dependencies = []
#
# [tool.iobound]
# kind = "primitives"
# title = "a socket under an event loop"
# loops = ["asyncio", "uvloop"]
# ///
"""One byte to another process and back over the loopback interface, awaited. Python 3.6 and later."""

import asyncio
import socket
from timeit import default_timer as clock

import peer


async def socket_round_trip(times):
    """One byte to an echoing process over loopback TCP and back: `sock_sendall` and `sock_recv` of the event loop."""
    loop = asyncio.get_event_loop()
    with peer.echo() as address:
        connection = socket.create_connection(address)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setblocking(False)
        started = clock()
        for _ in times:
            await loop.sock_sendall(connection, b"x")
            await loop.sock_recv(connection, 1)
        taken = clock() - started
        connection.close()
    return taken


async def stream_round_trip(times):
    """One byte to an echoing process over loopback TCP and back: `write` and `readexactly` of asyncio's streams."""
    with peer.echo() as address:
        reader, writer = await asyncio.open_connection(*address)
        started = clock()
        for _ in times:
            writer.write(b"x")
            await reader.readexactly(1)
        taken = clock() - started
        writer.close()
        await asyncio.sleep(0)
    return taken
