# /// script
# requires-python = ">=3.11"
# dependencies = ["hypercorn>=0.17", "h11>=0.14"]
#
# [tool.iobound]
# kind = "server"
# title = "Hypercorn on asyncio"
# accepts = ["asgi"]
# model = "asyncio"
# loop = "asyncio"
# parser = "h11"
# knobs = ["WORKERS"]
# ///
"""Hypercorn on the standard event loop, parsing with h11, its only parser for HTTP/1."""

import asyncio
import gc
import os
from importlib.metadata import version

from hypercorn.config import Config
from hypercorn.protocol.h11 import H11Protocol
from hypercorn.run import run


def ran():
    live = {type(found): found for found in gc.get_objects() if isinstance(found, Config | H11Protocol)}
    loop = type(asyncio.get_running_loop())
    return {
        "server": f"Hypercorn {version('hypercorn')}",
        "worker": live[Config].worker_class,
        "loop": f"{loop.__module__}.{loop.__name__}",
        "parser": H11Protocol.__name__ if H11Protocol in live else "unknown",
        "workers": str(live[Config].workers or 1),
    }


if __name__ == "__main__":
    workers = int(os.environ.get("WORKERS", "1"))
    config = Config()
    config.application_path = "framework:app"
    config.bind = [f"{os.environ.get('HOST', '127.0.0.1')}:{os.environ['PORT']}"]
    config.workers = workers if workers > 1 else 0  # 0: in this process, without a master
    config.worker_class = "asyncio"
    config.keep_alive_timeout = float(os.environ.get("KEEP_ALIVE", "75"))
    config.loglevel = "warning"
    run(config)
