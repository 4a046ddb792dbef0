# /// script
# requires-python = ">=3.11"
# dependencies = ["aiohttp>=3.11", "aiofiles>=24"]
#
# [tool.iobound]
# kind = "framework"
# title = "aiohttp"
# interface = "aiohttp"
# calls = "async"
# twin = "aiohttp-sync"
# ///
"""The workloads in aiohttp."""

import json
import os
import platform
from functools import partial

import aiofiles
import aiohttp
import server
from aiohttp import web
from store import Store

store = Store()
routes = web.RouteTableDef()
answer = partial(web.json_response, dumps=partial(json.dumps, separators=(",", ":"), ensure_ascii=False))


@routes.get("/plain")
async def plain(request):
    return web.Response(text="Hello, World!")


@routes.get("/json")
async def message(request):
    return answer({"message": "Hello, World!"})


@routes.get("/file")
async def file(request):
    async with aiofiles.open(os.environ["FILE_PATH"]) as opened:
        return web.Response(text=await opened.read())


@routes.get("/sql-point")
async def point(request):
    return answer(await store.point(int(request.query["id"])))


@routes.get("/sql-list")
async def rows(request):
    return answer(await store.list())


@routes.get("/sql-multi")
async def multi(request):
    return answer(await store.multi([int(number) for number in request.query["ids"].split(",")]))


@routes.post("/sql-insert")
async def insert(request):
    entry = await request.json()
    await store.insert(entry["name"], entry["quantity"])
    return answer(entry, status=201)


@routes.get("/redis-get")
async def cached(request):
    key = request.query["key"]
    return answer({"key": key, "value": await store.get(key)})


@routes.get("/db-wait")
async def wait(request):
    ms = float(request.query["ms"])
    await store.wait(ms / 1000)
    return answer({"waited_ms": ms})


@routes.get("/_ran")
async def ran(request):
    framework = {"framework": f"aiohttp {aiohttp.__version__}", "debug": str(app.debug)}
    return answer({"python": platform.python_version(), **framework, **server.ran(), **await store.ran()})


async def opened_store(app):
    await store.open()
    yield
    await store.close()


app = web.Application()
app.add_routes(routes)
app.cleanup_ctx.append(opened_store)
