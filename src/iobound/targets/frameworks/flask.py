# /// script
# requires-python = ">=3.11"
# dependencies = ["flask>=3"]
#
# [tool.iobound]
# kind = "framework"
# title = "Flask"
# interface = "wsgi"
# calls = "sync"
# knobs = ["DEBUG"]
# ///
"""The workloads in Flask."""

import atexit
import json
import os
import platform
from importlib.metadata import version
from pathlib import Path

import server
from flask import Flask, Response, request
from store import Store

app = Flask(__name__)
app.debug = os.environ.get("DEBUG") == "1"
store = Store()
store.open()
atexit.register(store.close)


def answer(value, status=200):
    return Response(json.dumps(value, separators=(",", ":"), ensure_ascii=False), status, mimetype="application/json")


@app.get("/plain")
def plain():
    return Response("Hello, World!", mimetype="text/plain")


@app.get("/json")
def message():
    return answer({"message": "Hello, World!"})


@app.get("/file")
def file():
    return Response(Path(os.environ["FILE_PATH"]).read_bytes(), mimetype="text/plain")


@app.get("/sql-point")
def point():
    return answer(store.point(int(request.args["id"])))


@app.get("/sql-list")
def rows():
    return answer(store.list())


@app.get("/sql-multi")
def multi():
    return answer(store.multi([int(number) for number in request.args["ids"].split(",")]))


@app.post("/sql-insert")
def insert():
    entry = request.get_json()
    store.insert(entry["name"], entry["quantity"])
    return answer(entry, 201)


@app.get("/redis-get")
def cached():
    key = request.args["key"]
    return answer({"key": key, "value": store.get(key)})


@app.get("/db-wait")
def wait():
    ms = float(request.args["ms"])
    store.wait(ms / 1000)
    return answer({"waited_ms": ms})


@app.get("/_ran")
def ran():
    labels = {"python": platform.python_version(), "framework": f"Flask {version('flask')}", "debug": str(app.debug)}
    return answer({**labels, **server.ran(), **store.ran()})
