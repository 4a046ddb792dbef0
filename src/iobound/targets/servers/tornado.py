# /// script
# requires-python = ">=3.11"
# dependencies = ["tornado>=6.5"]
#
# [tool.iobound]
# kind = "server"
# title = "Tornado's own server"
# accepts = ["tornado"]
# model = "asyncio"
# loop = "asyncio"
# parser = "tornado"
# knobs = ["WORKERS"]
# ///
"""Tornado's own HTTP server on the standard event loop; several workers are forked with one socket."""

import asyncio
import gc
import os
import signal

import tornado
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.process import fork_processes

workers = int(os.environ.get("WORKERS", "1"))


def ran():
    serving = next(found for found in gc.get_objects() if isinstance(found, HTTPServer))
    loop = type(asyncio.get_running_loop())
    return {
        "server": f"Tornado {tornado.version}",
        "worker": type(serving).__name__,
        "loop": f"{loop.__module__}.{loop.__name__}",
        "parser": "tornado.http1connection",
        "workers": str(workers),
    }


async def serve(sockets):
    from framework import app, store

    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    await store.open()
    server = HTTPServer(app, idle_connection_timeout=float(os.environ.get("KEEP_ALIVE", "75")))
    server.add_sockets(sockets)
    await stopped.wait()
    server.stop()
    await server.close_all_connections()
    await store.close()


if __name__ == "__main__":
    sockets = bind_sockets(int(os.environ["PORT"]), os.environ.get("HOST", "127.0.0.1"))
    if workers > 1:
        fork_processes(workers, max_restarts=0)
    asyncio.run(serve(sockets))
