# /// script
# requires-python = ">=3.11"
# dependencies = ["granian>=2.5", "uvloop>=0.21"]
#
# [tool.iobound]
# kind = "server"
# title = "granian (ASGI) on uvloop"
# accepts = ["asgi"]
# model = "asyncio"
# loop = "uvloop"
# parser = "hyper"
# knobs = ["WORKERS", "ACCESS_LOG", "KEEP_ALIVE"]
# twin = "granian-wsgi"
# ///
"""granian serving ASGI: HTTP in Rust, the application on uvloop."""

import asyncio
import gc
import multiprocessing
import os

import granian
from granian.constants import HTTPModes, Interfaces, Loops
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server import Server

ACCESS_LOG = os.environ.get("ACCESS_LOG") == "1"


def ran():
    serving = next(found for found in gc.get_objects() if isinstance(found, Server))
    loop = type(asyncio.get_running_loop())
    return {
        "server": f"granian {granian.__version__}",
        "loop": f"{loop.__module__}.{loop.__name__}",
        "workers": str(serving.workers),
        "access_log": str(serving.log_access),
    }


if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    Server(
        "framework:app",
        address=os.environ.get("HOST", "127.0.0.1"),
        port=int(os.environ["PORT"]),
        interface=Interfaces.ASGI,
        workers=int(os.environ.get("WORKERS", "1")),
        loop=Loops.uvloop,
        http=HTTPModes.http1,
        http1_settings=HTTP1Settings(keep_alive=os.environ.get("KEEP_ALIVE") != "0"),
        websockets=False,
        log_access=ACCESS_LOG,
        log_level=LogLevels.info if ACCESS_LOG else LogLevels.warning,
    ).serve()
