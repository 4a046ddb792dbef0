# /// script
# requires-python = ">=3.11"
# dependencies = ["waitress>=3"]
#
# [tool.iobound]
# kind = "server"
# title = "Waitress"
# accepts = ["wsgi"]
# model = "threads"
# parser = "waitress"
# knobs = ["THREADS"]
# ///
"""Waitress: one thread reads and writes, a pool of threads runs the application."""

import gc
import logging
import os
from importlib.metadata import version

from waitress import serve
from waitress.server import BaseWSGIServer


def ran():
    serving = next(found for found in gc.get_objects() if isinstance(found, BaseWSGIServer))
    return {
        "server": f"Waitress {version('waitress')}",
        "worker": type(serving).__name__,
        "workers": "1",
        "threads": str(len(serving.task_dispatcher.threads)),
    }


if __name__ == "__main__":
    from framework import app

    logging.getLogger("waitress").setLevel(logging.ERROR)  # it warns of every request that waits for a thread
    serve(
        app,
        host=os.environ.get("HOST", "127.0.0.1"),
        port=int(os.environ["PORT"]),
        threads=int(os.environ.get("THREADS", "10")),
        connection_limit=1000,
        channel_timeout=int(os.environ.get("KEEP_ALIVE", "75")),
    )
