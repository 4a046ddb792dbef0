# /// script
# requires-python = ">=3.11"
# dependencies = ["gunicorn[gevent]>=25"]
#
# [tool.iobound]
# kind = "server"
# title = "gunicorn, gevent worker"
# accepts = ["wsgi"]
# model = "gevent"
# knobs = ["WORKERS"]
# ///
"""gunicorn with the gevent worker: a greenlet for every connection. The module is gunicorn's configuration too."""

import os
import sys

from gevent import monkey

monkey.patch_all()

import gevent
import gunicorn
from gunicorn.app.wsgiapp import run

bind = f"{os.environ.get('HOST', '127.0.0.1')}:{os.environ['PORT']}"
worker_class = "gevent"
workers = int(os.environ.get("WORKERS", "1"))
keepalive = int(os.environ.get("KEEP_ALIVE", "75"))
http_parser = "python"
control_socket_disable = True


def post_fork(arbiter, worker):
    global live
    live = worker


def ran():
    return {
        "server": f"gunicorn {gunicorn.__version__} on gevent {gevent.__version__}",
        "worker": type(live).__name__,
        "parser": live.cfg.http_parser,
        "loop": f"{type(gevent.get_hub().loop).__module__}.{type(gevent.get_hub().loop).__name__}",
        "patched": str(monkey.is_module_patched("socket")),
        "workers": str(live.cfg.workers),
    }


if __name__ == "__main__":
    sys.argv[1:] = ["--config", "python:server", "framework:app"]
    run()
