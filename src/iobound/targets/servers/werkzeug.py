# /// script
# requires-python = ">=3.11"
# dependencies = ["werkzeug>=3"]
#
# [tool.iobound]
# kind = "server"
# title = "Werkzeug's development server"
# accepts = ["wsgi"]
# model = "threads"
# knobs = ["ACCESS_LOG"]
# ///
"""Werkzeug's development server, as ``flask run`` starts it: every request on a connection and a thread of its own."""

import gc
import logging
import os
import signal
import sys
from importlib.metadata import version

from werkzeug.serving import BaseWSGIServer, run_simple

ACCESS_LOG = os.environ.get("ACCESS_LOG") == "1"


def ran():
    serving = next(found for found in gc.get_objects() if isinstance(found, BaseWSGIServer))
    return {
        "server": f"Werkzeug {version('werkzeug')}",
        "worker": type(serving).__name__,
        "workers": "1",
        "threads": "one per request" if serving.multithread else "1",
        "access_log": str(logging.getLogger("werkzeug").isEnabledFor(logging.INFO)),
    }


if __name__ == "__main__":
    # The server has no handler of its own: without this one nothing would be closed.
    signal.signal(signal.SIGTERM, lambda signum, frame: sys.exit())
    logging.getLogger("werkzeug").setLevel(logging.INFO if ACCESS_LOG else logging.ERROR)
    from framework import app

    run_simple(os.environ.get("HOST", "127.0.0.1"), int(os.environ["PORT"]), app, threaded=True)
