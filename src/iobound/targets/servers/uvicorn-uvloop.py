# /// script
# requires-python = ">=3.11"
# dependencies = ["uvicorn>=0.34", "uvloop>=0.21", "httptools>=0.6"]
#
# [tool.iobound]
# kind = "server"
# title = "uvicorn on uvloop with httptools"
# accepts = ["asgi"]
# model = "asyncio"
# loop = "uvloop"
# parser = "httptools"
# knobs = ["WORKERS", "ACCESS_LOG"]
# ///
"""uvicorn on uvloop, parsing with httptools: what ``uvicorn[standard]`` picks."""

import asyncio
import gc
import os

import uvicorn

ACCESS_LOG = os.environ.get("ACCESS_LOG") == "1"


def ran():
    serving = next(found for found in gc.get_objects() if isinstance(found, uvicorn.Server))
    loop = type(asyncio.get_running_loop())
    return {
        "server": f"uvicorn {uvicorn.__version__}",
        "loop": f"{loop.__module__}.{loop.__name__}",
        "parser": serving.config.http_protocol_class.__name__,
        "workers": str(serving.config.workers),
        "access_log": str(serving.config.access_log),
    }


if __name__ == "__main__":
    uvicorn.run(
        "framework:app",
        host=os.environ.get("HOST", "127.0.0.1"),
        port=int(os.environ["PORT"]),
        workers=int(os.environ.get("WORKERS", "1")),
        timeout_keep_alive=int(os.environ.get("KEEP_ALIVE", "75")),
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="on",
        access_log=ACCESS_LOG,
        log_level="info" if ACCESS_LOG else "warning",
    )
