# /// script
# requires-python = ">=3.11"
# dependencies = ["sanic>=25", "aiofiles>=24"]
#
# [tool.iobound]
# kind = "framework"
# title = "Sanic"
# interface = "sanic"
# calls = "async"
# ///
"""The workloads in Sanic."""

import json
import os
import platform
from functools import partial

import aiofiles
import sanic
import server
from sanic import Sanic
from sanic.response import json as answer
from sanic.response import text
from store import Store

app = Sanic("iobound", dumps=partial(json.dumps, separators=(",", ":"), ensure_ascii=False))
store = Store()


@app.before_server_start
async def opened(app):
    await store.open()


@app.after_server_stop
async def closed(app):
    await store.close()


@app.get("/plain")
async def plain(request):
    return text("Hello, World!")


@app.get("/json")
async def message(request):
    return answer({"message": "Hello, World!"})


@app.get("/file")
async def file(request):
    async with aiofiles.open(os.environ["FILE_PATH"]) as opened:
        return text(await opened.read())


@app.get("/sql-point")
async def point(request):
    return answer(await store.point(int(request.args.get("id"))))


@app.get("/sql-list")
async def rows(request):
    return answer(await store.list())


@app.get("/sql-multi")
async def multi(request):
    return answer(await store.multi([int(number) for number in request.args.get("ids").split(",")]))


@app.post("/sql-insert")
async def insert(request):
    entry = request.json
    await store.insert(entry["name"], entry["quantity"])
    return answer(entry, 201)


@app.get("/redis-get")
async def cached(request):
    key = request.args.get("key")
    return answer({"key": key, "value": await store.get(key)})


@app.get("/db-wait")
async def wait(request):
    ms = float(request.args.get("ms"))
    await store.wait(ms / 1000)
    return answer({"waited_ms": ms})


@app.get("/_ran")
async def ran(request):
    framework = {"framework": f"Sanic {sanic.__version__}", "debug": str(app.debug)}
    return answer({"python": platform.python_version(), **framework, **server.ran(), **await store.ran()})
