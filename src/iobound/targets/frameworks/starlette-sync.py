# /// script
# requires-python = ">=3.11"
# dependencies = ["starlette>=0.40", "anyio>=4"]
#
# [tool.iobound]
# kind = "framework"
# title = "Starlette, sync handlers"
# interface = "asgi"
# calls = "sync"
# model = "threads"
# knobs = ["THREADS", "DEBUG"]
# twin = "starlette"
# ///
"""The workloads in Starlette, with plain functions as handlers: it runs them in a pool of threads beside its event loop."""

import atexit
import os
import platform
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import server
import starlette
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route
from store import Store

store = Store()
store.open()
atexit.register(store.close)


@asynccontextmanager
async def lifespan(app):
    anyio.to_thread.current_default_thread_limiter().total_tokens = int(os.environ.get("THREADS", "10"))
    yield


def plain(request):
    return PlainTextResponse("Hello, World!")


def message(request):
    return JSONResponse({"message": "Hello, World!"})


def file(request):
    return PlainTextResponse(Path(os.environ["FILE_PATH"]).read_bytes())


def point(request):
    return JSONResponse(store.point(int(request.query_params["id"])))


def rows(request):
    return JSONResponse(store.list())


def multi(request):
    return JSONResponse(store.multi([int(number) for number in request.query_params["ids"].split(",")]))


async def insert(request):
    entry = await request.json()  # which only a coroutine can read
    await run_in_threadpool(store.insert, entry["name"], entry["quantity"])
    return JSONResponse(entry, 201)


def cached(request):
    key = request.query_params["key"]
    return JSONResponse({"key": key, "value": store.get(key)})


def wait(request):
    ms = float(request.query_params["ms"])
    store.wait(ms / 1000)
    return JSONResponse({"waited_ms": ms})


async def ran(request):
    framework = {"framework": f"Starlette {starlette.__version__}", "debug": str(app.debug)}
    threads = {"threads": str(anyio.to_thread.current_default_thread_limiter().total_tokens)}
    stored = await run_in_threadpool(store.ran)
    return JSONResponse({"python": platform.python_version(), **framework, **server.ran(), **threads, **stored})


app = Starlette(
    debug=os.environ.get("DEBUG") == "1",
    lifespan=lifespan,
    routes=[
        Route("/plain", plain),
        Route("/json", message),
        Route("/file", file),
        Route("/sql-point", point),
        Route("/sql-list", rows),
        Route("/sql-multi", multi),
        Route("/sql-insert", insert, methods=["POST"]),
        Route("/redis-get", cached),
        Route("/db-wait", wait),
        Route("/_ran", ran),
    ],
)
