# /// script
# requires-python = ">=3.11"
# dependencies = ["uvicorn>=0.34", "h11>=0.14"]
#
# [tool.iobound]
# kind = "server"
# title = "uvicorn on asyncio with h11"
# accepts = ["asgi"]
# model = "asyncio"
# loop = "asyncio"
# parser = "h11"
# knobs = ["WORKERS", "ACCESS_LOG"]
# ///
"""uvicorn on the standard event loop, parsing with h11: what a plain ``uvicorn`` picks."""

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
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="on",
        access_log=ACCESS_LOG,
        log_level="info" if ACCESS_LOG else "warning",
    )
