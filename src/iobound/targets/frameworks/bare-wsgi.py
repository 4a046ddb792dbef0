# /// script
# requires-python = ">=3.11"
# dependencies = []
#
# [tool.iobound]
# kind = "framework"
# title = "a bare WSGI callable"
# interface = "wsgi"
# calls = "sync"
# ///
"""The workloads in a bare WSGI callable: the floor under every WSGI framework."""

import atexit
import json
import os
import platform
from pathlib import Path
from urllib.parse import parse_qs

import server
from store import Store

store = Store()
store.open()
atexit.register(store.close)


def insert(query, body):
    entry = json.loads(body)
    store.insert(entry["name"], entry["quantity"])
    return entry


def wait(query, body):
    ms = float(query["ms"][0])
    store.wait(ms / 1000)
    return {"waited_ms": ms}


ROUTES = {
    "/plain": lambda query, body: b"Hello, World!",
    "/json": lambda query, body: {"message": "Hello, World!"},
    "/file": lambda query, body: Path(os.environ["FILE_PATH"]).read_bytes(),
    "/sql-point": lambda query, body: store.point(int(query["id"][0])),
    "/sql-list": lambda query, body: store.list(),
    "/sql-multi": lambda query, body: store.multi([int(number) for number in query["ids"][0].split(",")]),
    "/sql-insert": insert,
    "/redis-get": lambda query, body: {"key": query["key"][0], "value": store.get(query["key"][0])},
    "/db-wait": wait,
    "/_ran": lambda query, body: {"python": platform.python_version(), "framework": "none", **server.ran(), **store.ran()},
}


def app(environ, start_response):
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    answer = ROUTES[environ["PATH_INFO"]](parse_qs(environ["QUERY_STRING"]), body)
    kind = "text/plain" if isinstance(answer, bytes) else "application/json"
    if kind == "application/json":
        answer = json.dumps(answer, separators=(",", ":"), ensure_ascii=False).encode()
    status = "201 Created" if environ["REQUEST_METHOD"] == "POST" else "200 OK"
    start_response(status, [("Content-Type", kind), ("Content-Length", str(len(answer)))])
    return [answer]
