# /// script
# requires-python = ">=3.11"
# dependencies = ["gunicorn>=25"]
#
# [tool.iobound]
# kind = "server"
# title = "gunicorn, gthread worker"
# accepts = ["wsgi"]
# model = "threads"
# knobs = ["WORKERS", "THREADS"]
# ///
"""gunicorn with the gthread worker: a pool of threads in every worker process. The module is gunicorn's configuration too."""

import os
import sys

import gunicorn
from gunicorn.app.wsgiapp import run

bind = f"{os.environ.get('HOST', '127.0.0.1')}:{os.environ['PORT']}"
worker_class = "gthread"
workers = int(os.environ.get("WORKERS", "1"))
threads = int(os.environ.get("THREADS", "10"))
keepalive = int(os.environ.get("KEEP_ALIVE", "75"))
http_parser = "python"
control_socket_disable = True


def post_fork(arbiter, worker):
    global live
    live = worker


def ran():
    return {
        "server": f"gunicorn {gunicorn.__version__}",
        "worker": type(live).__name__,
        "parser": live.cfg.http_parser,
        "workers": str(live.cfg.workers),
        "threads": str(live.tpool._max_workers),
    }


if __name__ == "__main__":
    sys.argv[1:] = ["--config", "python:server", "framework:app"]
    run()
