# /// script
# requires-python = ">=3.11"
# dependencies = ["aiohttp>=3.11"]
#
# [tool.iobound]
# kind = "framework"
# title = "aiohttp, work done in threads"
# interface = "aiohttp"
# calls = "sync"
# model = "threads"
# knobs = ["THREADS"]
# twin = "aiohttp"
# ///
"""The workloads in aiohttp, whose handlers must be coroutines: a pool of threads beside the event loop does all their work."""

import asyncio
import atexit
import json
import os
import platform
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import aiohttp
import server
from aiohttp import web
from store import Store

store = Store()
store.open()
atexit.register(store.close)
threads = ThreadPoolExecutor(int(os.environ.get("THREADS", "10")))
routes = web.RouteTableDef()
answer = partial(web.json_response, dumps=partial(json.dumps, separators=(",", ":"), ensure_ascii=False))


def in_thread(work):
    async def handle(request):
        return await asyncio.get_running_loop().run_in_executor(threads, work, request)

    return handle


def get(path):
    return lambda work: routes.get(path)(in_thread(work))


@get("/plain")
def plain(request):
    return web.Response(text="Hello, World!")


@get("/json")
def message(request):
    return answer({"message": "Hello, World!"})


@get("/file")
def file(request):
    return web.Response(text=Path(os.environ["FILE_PATH"]).read_text())


@get("/sql-point")
def point(request):
    return answer(store.point(int(request.query["id"])))


@get("/sql-list")
def rows(request):
    return answer(store.list())


@get("/sql-multi")
def multi(request):
    return answer(store.multi([int(number) for number in request.query["ids"].split(",")]))


@routes.post("/sql-insert")
async def insert(request):
    entry = await request.json()  # which only a coroutine can read
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(threads, store.insert, entry["name"], entry["quantity"])
    return answer(entry, status=201)


@get("/redis-get")
def cached(request):
    key = request.query["key"]
    return answer({"key": key, "value": store.get(key)})


@get("/db-wait")
def wait(request):
    ms = float(request.query["ms"])
    store.wait(ms / 1000)
    return answer({"waited_ms": ms})


@routes.get("/_ran")
async def ran(request):
    framework = {"framework": f"aiohttp {aiohttp.__version__}", "debug": str(app.debug)}
    stored = await asyncio.get_running_loop().run_in_executor(threads, store.ran)
    labels = {"python": platform.python_version(), **framework, **server.ran(), "threads": str(threads._max_workers)}
    return answer({**labels, **stored})


app = web.Application()
app.add_routes(routes)
