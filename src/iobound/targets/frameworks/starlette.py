# /// script
# requires-python = ">=3.11"
# dependencies = ["starlette>=0.40", "anyio>=4"]
#
# [tool.iobound]
# kind = "framework"
# title = "Starlette"
# interface = "asgi"
# calls = "async"
# knobs = ["DEBUG"]
# twin = "starlette-sync"
# ///
"""The workloads in Starlette."""

import os
import platform
from contextlib import asynccontextmanager

import anyio
import server
import starlette
from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route
from store import Store

store = Store()


@asynccontextmanager
async def lifespan(app):
    await store.open()
    yield
    await store.close()


async def plain(request):
    return PlainTextResponse("Hello, World!")


async def message(request):
    return JSONResponse({"message": "Hello, World!"})


async def file(request):
    return PlainTextResponse(await anyio.Path(os.environ["FILE_PATH"]).read_bytes())


async def point(request):
    return JSONResponse(await store.point(int(request.query_params["id"])))


async def rows(request):
    return JSONResponse(await store.list())


async def multi(request):
    return JSONResponse(await store.multi([int(number) for number in request.query_params["ids"].split(",")]))


async def insert(request):
    entry = await request.json()
    await store.insert(entry["name"], entry["quantity"])
    return JSONResponse(entry, 201)


async def cached(request):
    key = request.query_params["key"]
    return JSONResponse({"key": key, "value": await store.get(key)})


async def wait(request):
    ms = float(request.query_params["ms"])
    await store.wait(ms / 1000)
    return JSONResponse({"waited_ms": ms})


async def ran(request):
    framework = {"framework": f"Starlette {starlette.__version__}", "debug": str(app.debug)}
    return JSONResponse({"python": platform.python_version(), **framework, **server.ran(), **await store.ran()})


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
