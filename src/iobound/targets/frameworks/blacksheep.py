# /// script
# requires-python = ">=3.11"
# dependencies = ["blacksheep>=2", "aiofiles>=24"]
#
# [tool.iobound]
# kind = "framework"
# title = "BlackSheep"
# interface = "asgi"
# calls = "async"
# ///
"""The workloads in BlackSheep."""

import json
import os
import platform
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version

import aiofiles
import server
from blacksheep import Application, FromJSON, get, post
from blacksheep.server.responses import json as answer
from blacksheep.server.responses import text
from blacksheep.settings.json import json_settings
from store import Store

json_settings.use(dumps=partial(json.dumps, separators=(",", ":"), ensure_ascii=False))
app = Application(show_error_details=False)
store = Store()


@dataclass
class Entry:
    name: str
    quantity: int


@app.on_start
async def opened(app):
    await store.open()


@app.on_stop
async def closed(app):
    await store.close()


@get("/plain")
async def plain():
    return text("Hello, World!")


@get("/json")
async def message():
    return answer({"message": "Hello, World!"})


@get("/file")
async def file():
    async with aiofiles.open(os.environ["FILE_PATH"]) as opened:
        return text(await opened.read())


@get("/sql-point")
async def point(id: int):
    return answer(await store.point(id))


@get("/sql-list")
async def rows():
    return answer(await store.list())


@get("/sql-multi")
async def multi(ids: str):
    return answer(await store.multi([int(number) for number in ids.split(",")]))


@post("/sql-insert")
async def insert(data: FromJSON[Entry]):
    entry = data.value
    await store.insert(entry.name, entry.quantity)
    return answer({"name": entry.name, "quantity": entry.quantity}, 201)


@get("/redis-get")
async def cached(key: str):
    return answer({"key": key, "value": await store.get(key)})


@get("/db-wait")
async def wait(ms: float):
    await store.wait(ms / 1000)
    return answer({"waited_ms": ms})


@get("/_ran")
async def ran():
    framework = {"framework": f"BlackSheep {version('blacksheep')}", "debug": str(app.show_error_details)}
    return answer({"python": platform.python_version(), **framework, **server.ran(), **await store.ran()})
