# /// script
# requires-python = ">=3.11"
# dependencies = ["sanic>=25", "uvloop>=0.21", "httptools>=0.6"]
#
# [tool.iobound]
# kind = "server"
# title = "Sanic's own server on uvloop"
# accepts = ["sanic"]
# model = "asyncio"
# loop = "uvloop"
# parser = "sanic"
# knobs = ["WORKERS"]
# ///
"""Sanic's own server on uvloop."""

import asyncio
import os

import sanic
from sanic import Sanic
from sanic.http import Http


def ran():
    loop = type(asyncio.get_running_loop())
    return {
        "server": f"Sanic {sanic.__version__}",
        "loop": f"{loop.__module__}.{loop.__name__}",
        "parser": f"{Http.__module__}.{Http.__name__}",
        "workers": str(Sanic.get_app().state.workers or 1),
    }


if __name__ == "__main__":
    from framework import app

    app.config.USE_UVLOOP = True
    app.config.KEEP_ALIVE_TIMEOUT = int(os.environ.get("KEEP_ALIVE", "75"))
    workers = int(os.environ.get("WORKERS", "1"))
    Sanic.start_method = "fork"
    app.run(
        host=os.environ.get("HOST", "127.0.0.1"),
        port=int(os.environ["PORT"]),
        workers=workers,
        single_process=workers == 1,
        access_log=False,
        motd=False,
        verbosity=0,
    )
