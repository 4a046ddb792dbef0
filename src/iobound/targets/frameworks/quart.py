# /// script
# requires-python = ">=3.11"
# dependencies = ["quart>=0.20", "aiofiles>=24"]
#
# [tool.iobound]
# kind = "framework"
# title = "Quart"
# interface = "asgi"
# calls = "async"
# ///
"""The workloads in Quart."""

import json
import os
import platform
from importlib.metadata import version

import aiofiles
import server
from quart import Quart, Response, request
from store import Store

app = Quart(__name__)
store = Store()
app.before_serving(store.open)
app.after_serving(store.close)


def answer(value, status=200):
    return Response(json.dumps(value, separators=(",", ":"), ensure_ascii=False), status, mimetype="application/json")


@app.get("/plain")
async def plain():
    return Response("Hello, World!", mimetype="text/plain")


@app.get("/json")
async def message():
    return answer({"message": "Hello, World!"})


@app.get("/file")
async def file():
    async with aiofiles.open(os.environ["FILE_PATH"]) as opened:
        return Response(await opened.read(), mimetype="text/plain")


@app.get("/sql-point")
async def point():
    return answer(await store.point(int(request.args["id"])))


@app.get("/sql-list")
async def rows():
    return answer(await store.list())


@app.get("/sql-multi")
async def multi():
    return answer(await store.multi([int(number) for number in request.args["ids"].split(",")]))


@app.post("/sql-insert")
async def insert():
    entry = await request.get_json()
    await store.insert(entry["name"], entry["quantity"])
    return answer(entry, 201)


@app.get("/redis-get")
async def cached():
    key = request.args["key"]
    return answer({"key": key, "value": await store.get(key)})


@app.get("/db-wait")
async def wait():
    ms = float(request.args["ms"])
    await store.wait(ms / 1000)
    return answer({"waited_ms": ms})


@app.get("/_ran")
async def ran():
    labels = {"python": platform.python_version(), "framework": f"Quart {version('quart')}", "debug": str(app.debug)}
    return answer({**labels, **server.ran(), **await store.ran()})
