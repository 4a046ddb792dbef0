# /// script
# requires-python = ">=3.11"
# dependencies = ["granian>=2.5"]
#
# [tool.iobound]
# kind = "server"
# title = "granian (WSGI)"
# accepts = ["wsgi"]
# model = "threads"
# parser = "hyper"
# knobs = ["WORKERS", "THREADS", "ACCESS_LOG", "KEEP_ALIVE"]
# twin = "granian-asgi"
# ///
"""granian serving WSGI: HTTP in Rust, the application in a pool of threads."""

import gc
import multiprocessing
import os

import granian
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server import Server

ACCESS_LOG = os.environ.get("ACCESS_LOG") == "1"


def ran():
    serving = next(found for found in gc.get_objects() if isinstance(found, Server))
    return {
        "server": f"granian {granian.__version__}",
        "workers": str(serving.workers),
        "threads": str(serving.blocking_threads),
        "access_log": str(serving.log_access),
    }


if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    Server(
        "framework:app",
        address=os.environ.get("HOST", "127.0.0.1"),
        port=int(os.environ["PORT"]),
        interface=Interfaces.WSGI,
        workers=int(os.environ.get("WORKERS", "1")),
        blocking_threads=int(os.environ.get("THREADS", "10")),
        http=HTTPModes.http1,
        http1_settings=HTTP1Settings(keep_alive=os.environ.get("KEEP_ALIVE") != "0"),
        websockets=False,
        log_access=ACCESS_LOG,
        log_level=LogLevels.info if ACCESS_LOG else LogLevels.warning,
    ).serve()
