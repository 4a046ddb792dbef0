# /// script
# requires-python = ">=3.11"
# dependencies = ["daphne>=4"]
#
# [tool.iobound]
# kind = "server"
# title = "Daphne"
# accepts = ["asgi"]
# model = "asyncio"
# loop = "asyncio"
# parser = "twisted"
# ///
"""Daphne, Django's ASGI server on Twisted's asyncio reactor. It knows no lifespan: this file sends the events of one."""

import asyncio
import os
from contextlib import asynccontextmanager
from importlib.metadata import version

from daphne.server import Server, twisted_loop
from twisted.internet import reactor


def ran():
    loop = type(asyncio.get_running_loop())
    return {
        "server": f"Daphne {version('daphne')} on Twisted {version('twisted')}",
        "worker": type(reactor).__name__,
        "loop": f"{loop.__module__}.{loop.__name__}",
        "workers": "1",
    }


@asynccontextmanager
async def lifespan(app):
    events, answers = asyncio.Queue(), asyncio.Queue()
    scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": {}}
    running = asyncio.create_task(app(scope, events.get, answers.put))
    await events.put({"type": "lifespan.startup"})
    said = await answers.get()
    if said["type"] != "lifespan.startup.complete":
        raise SystemExit(said.get("message", said["type"]))
    yield
    await events.put({"type": "lifespan.shutdown"})
    await running


if __name__ == "__main__":
    asyncio.set_event_loop(twisted_loop)
    from framework import app

    opened = lifespan(app)
    twisted_loop.run_until_complete(opened.__aenter__())
    Server(
        app,
        endpoints=[f"tcp:port={os.environ['PORT']}:interface={os.environ.get('HOST', '127.0.0.1')}"],
        verbosity=0,
    ).run()
    twisted_loop.run_until_complete(opened.__aexit__(None, None, None))
