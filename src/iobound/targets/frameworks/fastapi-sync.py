# /// script
# requires-python = ">=3.11"
# dependencies = ["fastapi>=0.115", "anyio>=4"]
#
# [tool.iobound]
# kind = "framework"
# title = "FastAPI, sync handlers"
# interface = "asgi"
# calls = "sync"
# twin = "fastapi"
# model = "threads"
# knobs = ["THREADS"]
# ///
"""The workloads in FastAPI, with plain functions as handlers: it runs them in a pool of threads beside its event loop."""

import atexit
import os
import platform
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import fastapi
import server
from fastapi import FastAPI
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel
from store import Store

store = Store()
store.open()
atexit.register(store.close)


@asynccontextmanager
async def lifespan(app):
    anyio.to_thread.current_default_thread_limiter().total_tokens = int(os.environ.get("THREADS", "10"))
    yield


app = FastAPI(lifespan=lifespan)


class Entry(BaseModel):
    name: str
    quantity: int


@app.get("/plain", response_class=PlainTextResponse)
def plain():
    return "Hello, World!"


@app.get("/json")
def message():
    return {"message": "Hello, World!"}


@app.get("/file", response_class=PlainTextResponse)
def file():
    return Path(os.environ["FILE_PATH"]).read_text()


@app.get("/sql-point")
def point(id: int):
    return store.point(id)


@app.get("/sql-list")
def rows():
    return store.list()


@app.get("/sql-multi")
def multi(ids: str):
    return store.multi([int(number) for number in ids.split(",")])


@app.post("/sql-insert", status_code=201)
def insert(entry: Entry):
    store.insert(entry.name, entry.quantity)
    return entry


@app.get("/redis-get")
def cached(key: str):
    return {"key": key, "value": store.get(key)}


@app.get("/db-wait")
def wait(ms: float):
    store.wait(ms / 1000)
    return {"waited_ms": ms}


@app.get("/_ran")
async def ran():
    framework = {"framework": f"FastAPI {fastapi.__version__}", "debug": str(app.debug)}
    threads = {"threads": str(anyio.to_thread.current_default_thread_limiter().total_tokens)}
    stored = await anyio.to_thread.run_sync(store.ran)
    return {"python": platform.python_version(), **framework, **server.ran(), **threads, **stored}
