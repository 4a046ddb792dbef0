# /// script
# requires-python = ">=3.11"
# dependencies = []
#
# [tool.iobound]
# kind = "framework"
# title = "a bare ASGI callable"
# interface = "asgi"
# calls = "async"
# ///
"""The workloads in a bare ASGI callable: the floor under every ASGI framework."""

import asyncio
import json
import os
import platform
import traceback
from pathlib import Path
from urllib.parse import parse_qs

import server
from store import Store

store = Store()


async def plain(query, body):
    return b"Hello, World!"


async def message(query, body):
    return {"message": "Hello, World!"}


async def file(query, body):
    return await asyncio.to_thread(Path(os.environ["FILE_PATH"]).read_bytes)


async def point(query, body):
    return await store.point(int(query["id"][0]))


async def rows(query, body):
    return await store.list()


async def multi(query, body):
    return await store.multi([int(number) for number in query["ids"][0].split(",")])


async def insert(query, body):
    entry = json.loads(body)
    await store.insert(entry["name"], entry["quantity"])
    return entry


async def cached(query, body):
    key = query["key"][0]
    return {"key": key, "value": await store.get(key)}


async def wait(query, body):
    ms = float(query["ms"][0])
    await store.wait(ms / 1000)
    return {"waited_ms": ms}


async def ran(query, body):
    return {"python": platform.python_version(), "framework": "none", **server.ran(), **await store.ran()}


ROUTES = {
    "/plain": plain,
    "/json": message,
    "/file": file,
    "/sql-point": point,
    "/sql-list": rows,
    "/sql-multi": multi,
    "/sql-insert": insert,
    "/redis-get": cached,
    "/db-wait": wait,
    "/_ran": ran,
}


async def app(scope, receive, send):
    serve = lifespan if scope["type"] == "lifespan" else respond
    await serve(scope, receive, send)


async def respond(scope, receive, send):
    body = b""
    more = True
    while more:
        part = await receive()
        body += part.get("body", b"")
        more = part.get("more_body", False)
    answer = await ROUTES[scope["path"]](parse_qs(scope["query_string"].decode()), body)
    kind = b"text/plain" if isinstance(answer, bytes) else b"application/json"
    if kind == b"application/json":
        answer = json.dumps(answer, separators=(",", ":"), ensure_ascii=False).encode()
    headers = [(b"content-type", kind), (b"content-length", b"%d" % len(answer))]
    status = 201 if scope["method"] == "POST" else 200
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": answer})


async def lifespan(scope, receive, send):
    await receive()
    try:
        await store.open()
    except Exception:
        await send({"type": "lifespan.startup.failed", "message": traceback.format_exc()})
        raise
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await store.close()
    await send({"type": "lifespan.shutdown.complete"})
