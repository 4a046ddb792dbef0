# /// script
# requires-python = ">=3.11"
# dependencies = ["falcon>=4", "aiofiles>=24"]
#
# [tool.iobound]
# kind = "framework"
# title = "Falcon (ASGI)"
# interface = "asgi"
# calls = "async"
# ///
"""The workloads in Falcon on ASGI."""

import json
import os
import platform
from functools import partial

import aiofiles
import falcon
import falcon.asgi
import server
from store import Store

store = Store()


class Lifespan:
    async def process_startup(self, scope, event):
        await store.open()

    async def process_shutdown(self, scope, event):
        await store.close()


class Plain:
    async def on_get(self, request, response):
        response.content_type = falcon.MEDIA_TEXT
        response.text = "Hello, World!"


class Message:
    async def on_get(self, request, response):
        response.media = {"message": "Hello, World!"}


class File:
    async def on_get(self, request, response):
        response.content_type = falcon.MEDIA_TEXT
        async with aiofiles.open(os.environ["FILE_PATH"], "rb") as opened:
            response.data = await opened.read()


class Point:
    async def on_get(self, request, response):
        response.media = await store.point(request.get_param_as_int("id"))


class List:
    async def on_get(self, request, response):
        response.media = await store.list()


class Multi:
    async def on_get(self, request, response):
        response.media = await store.multi([int(number) for number in request.get_param("ids").split(",")])


class Insert:
    async def on_post(self, request, response):
        entry = await request.get_media()
        await store.insert(entry["name"], entry["quantity"])
        response.status = 201
        response.media = entry


class Cached:
    async def on_get(self, request, response):
        key = request.get_param("key")
        response.media = {"key": key, "value": await store.get(key)}


class Wait:
    async def on_get(self, request, response):
        ms = request.get_param_as_float("ms")
        await store.wait(ms / 1000)
        response.media = {"waited_ms": ms}


class Ran:
    async def on_get(self, request, response):
        framework = {"framework": f"Falcon {falcon.__version__}", "debug": "False"}
        response.media = {"python": platform.python_version(), **framework, **server.ran(), **await store.ran()}


app = falcon.asgi.App(middleware=[Lifespan()])
handler = falcon.media.JSONHandler(dumps=partial(json.dumps, separators=(",", ":"), ensure_ascii=False))
app.resp_options.media_handlers[falcon.MEDIA_JSON] = handler
app.add_route("/plain", Plain())
app.add_route("/json", Message())
app.add_route("/file", File())
app.add_route("/sql-point", Point())
app.add_route("/sql-list", List())
app.add_route("/sql-multi", Multi())
app.add_route("/sql-insert", Insert())
app.add_route("/redis-get", Cached())
app.add_route("/db-wait", Wait())
app.add_route("/_ran", Ran())
