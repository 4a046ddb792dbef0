# /// script
# requires-python = ">=3.11"
# dependencies = ["falcon>=4"]
#
# [tool.iobound]
# kind = "framework"
# title = "Falcon (WSGI)"
# interface = "wsgi"
# calls = "sync"
# ///
"""The workloads in Falcon on WSGI."""

import atexit
import json
import os
import platform
from functools import partial
from pathlib import Path

import falcon
import server
from store import Store

store = Store()
store.open()
atexit.register(store.close)


class Plain:
    def on_get(self, request, response):
        response.content_type = falcon.MEDIA_TEXT
        response.text = "Hello, World!"


class Message:
    def on_get(self, request, response):
        response.media = {"message": "Hello, World!"}


class File:
    def on_get(self, request, response):
        response.content_type = falcon.MEDIA_TEXT
        response.data = Path(os.environ["FILE_PATH"]).read_bytes()


class Point:
    def on_get(self, request, response):
        response.media = store.point(request.get_param_as_int("id"))


class List:
    def on_get(self, request, response):
        response.media = store.list()


class Multi:
    def on_get(self, request, response):
        response.media = store.multi([int(number) for number in request.get_param("ids").split(",")])


class Insert:
    def on_post(self, request, response):
        entry = request.media
        store.insert(entry["name"], entry["quantity"])
        response.status = 201
        response.media = entry


class Cached:
    def on_get(self, request, response):
        key = request.get_param("key")
        response.media = {"key": key, "value": store.get(key)}


class Wait:
    def on_get(self, request, response):
        ms = request.get_param_as_float("ms")
        store.wait(ms / 1000)
        response.media = {"waited_ms": ms}


class Ran:
    def on_get(self, request, response):
        framework = {"framework": f"Falcon {falcon.__version__}", "debug": "False"}
        response.media = {"python": platform.python_version(), **framework, **server.ran(), **store.ran()}


app = falcon.App()
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
