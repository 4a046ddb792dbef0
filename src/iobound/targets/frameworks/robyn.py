# /// script
# requires-python = ">=3.11"
# dependencies = ["robyn>=0.70", "aiofiles>=24"]
#
# [tool.iobound]
# kind = "framework"
# title = "Robyn"
# interface = "robyn"
# calls = "async"
# ///
"""The workloads in Robyn."""

import json
import os
import platform
from importlib.metadata import version

import aiofiles
import server
from robyn import Headers, Response, Robyn
from store import Store

app = Robyn(__file__)
store = Store()


@app.startup_handler
async def opened():
    await store.open()


@app.shutdown_handler
async def closed():
    await store.close()


def answer(value, status=200):
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return Response(status, Headers({"Content-Type": "application/json"}), text)


def text(value):
    return Response(200, Headers({"Content-Type": "text/plain"}), value)


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
    return answer(await store.point(int(request.query_params.get("id", ""))))


@app.get("/sql-list")
async def rows(request):
    return answer(await store.list())


@app.get("/sql-multi")
async def multi(request):
    return answer(await store.multi([int(number) for number in request.query_params.get("ids", "").split(",")]))


@app.post("/sql-insert")
async def insert(request):
    entry = json.loads(request.body)
    await store.insert(entry["name"], entry["quantity"])
    return answer(entry, 201)


@app.get("/redis-get")
async def cached(request):
    key = request.query_params.get("key", "")
    return answer({"key": key, "value": await store.get(key)})


@app.get("/db-wait")
async def wait(request):
    ms = float(request.query_params.get("ms", ""))
    await store.wait(ms / 1000)
    return answer({"waited_ms": ms})


@app.get("/_ran")
async def ran(request):
    framework = {"framework": f"Robyn {version('robyn')}", "debug": str(bool(app.config.dev))}
    return answer({"python": platform.python_version(), **framework, **server.ran(), **await store.ran()})
