# /// script
# requires-python = ">=3.11"
# dependencies = ["fastapi>=0.115", "anyio>=4"]
#
# [tool.iobound]
# kind = "framework"
# title = "FastAPI, async handlers"
# interface = "asgi"
# calls = "async"
# twin = "fastapi-sync"
# ///
"""The workloads in FastAPI, with async handlers."""

import os
import platform
from contextlib import asynccontextmanager

import anyio
import fastapi
import server
from fastapi import FastAPI
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel
from store import Store

store = Store()


@asynccontextmanager
async def lifespan(app):
    await store.open()
    yield
    await store.close()


app = FastAPI(lifespan=lifespan)


class Entry(BaseModel):
    name: str
    quantity: int


@app.get("/plain", response_class=PlainTextResponse)
async def plain():
    return "Hello, World!"


@app.get("/json")
async def message():
    return {"message": "Hello, World!"}


@app.get("/file", response_class=PlainTextResponse)
async def file():
    return await anyio.Path(os.environ["FILE_PATH"]).read_text()


@app.get("/sql-point")
async def point(id: int):
    return await store.point(id)


@app.get("/sql-list")
async def rows():
    return await store.list()


@app.get("/sql-multi")
async def multi(ids: str):
    return await store.multi([int(number) for number in ids.split(",")])


@app.post("/sql-insert", status_code=201)
async def insert(entry: Entry):
    await store.insert(entry.name, entry.quantity)
    return entry


@app.get("/redis-get")
async def cached(key: str):
    return {"key": key, "value": await store.get(key)}


@app.get("/db-wait")
async def wait(ms: float):
    await store.wait(ms / 1000)
    return {"waited_ms": ms}


@app.get("/_ran")
async def ran():
    framework = {"framework": f"FastAPI {fastapi.__version__}", "debug": str(app.debug)}
    return {"python": platform.python_version(), **framework, **server.ran(), **await store.ran()}
