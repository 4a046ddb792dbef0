# /// script
# requires-python = ">=3.11"
# dependencies = ["bottle>=0.13"]
#
# [tool.iobound]
# kind = "framework"
# title = "Bottle"
# interface = "wsgi"
# calls = "sync"
# ///
"""The workloads in Bottle."""

import atexit
import json
import os
import platform
from pathlib import Path

import bottle
import server
from bottle import Bottle, HTTPResponse, request
from store import Store

app = Bottle()
store = Store()
store.open()
atexit.register(store.close)


def answer(value, status=200):
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return HTTPResponse(text, status, {"Content-Type": "application/json"})


@app.get("/plain")
def plain():
    return HTTPResponse("Hello, World!", headers={"Content-Type": "text/plain"})


@app.get("/json")
def message():
    return answer({"message": "Hello, World!"})


@app.get("/file")
def file():
    return HTTPResponse(Path(os.environ["FILE_PATH"]).read_bytes(), headers={"Content-Type": "text/plain"})


@app.get("/sql-point")
def point():
    return answer(store.point(int(request.query.id)))


@app.get("/sql-list")
def rows():
    return answer(store.list())


@app.get("/sql-multi")
def multi():
    return answer(store.multi([int(number) for number in request.query.ids.split(",")]))


@app.post("/sql-insert")
def insert():
    entry = request.json
    store.insert(entry["name"], entry["quantity"])
    return answer(entry, 201)


@app.get("/redis-get")
def cached():
    key = request.query.key
    return answer({"key": key, "value": store.get(key)})


@app.get("/db-wait")
def wait():
    ms = float(request.query.ms)
    store.wait(ms / 1000)
    return answer({"waited_ms": ms})


@app.get("/_ran")
def ran():
    framework = {"framework": f"Bottle {bottle.__version__}", "debug": str(bottle.DEBUG)}
    return answer({"python": platform.python_version(), **framework, **server.ran(), **store.ran()})
