# /// script
# requires-python = ">=3.11"
# dependencies = ["gunicorn>=25", "uvicorn-worker>=0.3", "uvloop>=0.21", "httptools>=0.6"]
#
# [tool.iobound]
# kind = "server"
# title = "gunicorn, uvicorn worker on uvloop with httptools"
# accepts = ["asgi"]
# model = "asyncio"
# loop = "uvloop"
# parser = "httptools"
# knobs = ["WORKERS"]
# ///
"""gunicorn keeps the processes, uvicorn serves in them. The module is gunicorn's configuration too."""

import asyncio
import os
import sys

import gunicorn
import uvicorn
from gunicorn.app.wsgiapp import run
from uvicorn_worker import UvicornWorker


class Worker(UvicornWorker):
    CONFIG_KWARGS = {"loop": "uvloop", "http": "httptools", "ws": "none", "lifespan": "on", "access_log": False}  # noqa: RUF012


bind = f"{os.environ.get('HOST', '127.0.0.1')}:{os.environ['PORT']}"
worker_class = Worker
workers = int(os.environ.get("WORKERS", "1"))
keepalive = int(os.environ.get("KEEP_ALIVE", "75"))
control_socket_disable = True


def post_fork(arbiter, worker):
    global live
    live = worker


def ran():
    loop = type(asyncio.get_running_loop())
    return {
        "server": f"gunicorn {gunicorn.__version__} with uvicorn {uvicorn.__version__}",
        "worker": UvicornWorker.__name__ if isinstance(live, UvicornWorker) else type(live).__name__,
        "loop": f"{loop.__module__}.{loop.__name__}",
        "parser": live.config.http_protocol_class.__name__,
        "workers": str(live.cfg.workers),
    }


if __name__ == "__main__":
    sys.argv[1:] = ["--config", "python:server", "framework:app"]
    run()
