# /// script
# requires-python = ">=3.11"
# dependencies = ["litestar>=2", "anyio>=4"]
#
# [tool.iobound]
# kind = "framework"
# title = "Litestar"
# interface = "asgi"
# calls = "async"
# ///
"""The workloads in Litestar."""

import os
import platform
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version

import anyio
import server
from litestar import Litestar, MediaType, get, post
from store import Store

store = Store()


@asynccontextmanager
async def opened_store(app):
    await store.open()
    yield
    await store.close()


@dataclass
class Entry:
    name: str
    quantity: int


@get("/plain", media_type=MediaType.TEXT)
async def plain() -> str:
    return "Hello, World!"


@get("/json")
async def message() -> dict[str, str]:
    return {"message": "Hello, World!"}


@get("/file", media_type=MediaType.TEXT)
async def file() -> str:
    return await anyio.Path(os.environ["FILE_PATH"]).read_text()


@get("/sql-point")
async def point(id: int) -> dict:
    return await store.point(id)


@get("/sql-list")
async def rows() -> list:
    return await store.list()


@get("/sql-multi")
async def multi(ids: str) -> list:
    return await store.multi([int(number) for number in ids.split(",")])


@post("/sql-insert")
async def insert(data: Entry) -> Entry:
    await store.insert(data.name, data.quantity)
    return data


@get("/redis-get")
async def cached(key: str) -> dict:
    return {"key": key, "value": await store.get(key)}


@get("/db-wait")
async def wait(ms: float) -> dict:
    await store.wait(ms / 1000)
    return {"waited_ms": ms}


@get("/_ran")
async def ran() -> dict:
    framework = {"framework": f"Litestar {version('litestar')}", "debug": str(app.debug)}
    return {"python": platform.python_version(), **framework, **server.ran(), **await store.ran()}


handlers = [plain, message, file, point, rows, multi, insert, cached, wait, ran]
app = Litestar(handlers, lifespan=[opened_store], openapi_config=None, debug=False)
