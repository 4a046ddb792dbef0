# /// script
# requires-python = ">=3.11"
# dependencies = ["robyn>=0.70", "uvloop>=0.21"]
#
# [tool.iobound]
# kind = "server"
# title = "Robyn's own server on uvloop"
# accepts = ["robyn"]
# model = "asyncio"
# loop = "uvloop"
# parser = "actix"
# knobs = ["WORKERS"]
# ///
"""Robyn's own server: HTTP in Rust, the application on uvloop in every process."""

import asyncio
import os
import signal
import sys
from importlib.metadata import version


def ran():
    from framework import app

    loop = type(asyncio.get_running_loop())
    return {
        "server": f"Robyn {version('robyn')}",
        "loop": f"{loop.__module__}.{loop.__name__}",
        "workers": str(app.config.processes),
    }


def interrupt(signum, frame):
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, interrupt)  # a single process stops for Ctrl-C only
    # What Robyn calls workers are threads that read requests; the application runs in its processes.
    workers = os.environ.get("WORKERS", "1")
    sys.argv[1:] = ["--processes", workers, "--workers", "1", "--log-level", "WARN", "--disable-openapi"]
    from framework import app

    app.start(
        host=os.environ.get("HOST", "127.0.0.1"),
        port=int(os.environ["PORT"]),
        _check_port=False,
        keep_alive_timeout=int(os.environ.get("KEEP_ALIVE", "75")),
    )
