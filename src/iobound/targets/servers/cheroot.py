# /// script
# requires-python = ">=3.11"
# dependencies = ["cheroot>=10"]
#
# [tool.iobound]
# kind = "server"
# title = "Cheroot"
# accepts = ["wsgi"]
# model = "threads"
# parser = "cheroot"
# knobs = ["THREADS"]
# ///
"""Cheroot, CherryPy's server: a pool of threads, each with a connection while a request comes in on it."""

import gc
import os
import signal
from importlib.metadata import version

from cheroot.wsgi import Server


def ran():
    serving = next(found for found in gc.get_objects() if isinstance(found, Server))
    return {
        "server": f"Cheroot {version('cheroot')}",
        "worker": type(serving.requests).__name__,
        "workers": "1",
        "threads": str(len(serving.requests._threads)),
    }


def interrupt(signum, frame):
    raise KeyboardInterrupt


if __name__ == "__main__":
    from framework import app

    signal.signal(signal.SIGTERM, interrupt)  # it stops in order for Ctrl-C only
    threads = int(os.environ.get("THREADS", "10"))
    server = Server(
        (os.environ.get("HOST", "127.0.0.1"), int(os.environ["PORT"])),
        app,
        numthreads=threads,
        max=threads,
        request_queue_size=128,  # its default of 5 turns connections away that come at once
        timeout=int(os.environ.get("KEEP_ALIVE", "75")),
    )
    server.safe_start()
