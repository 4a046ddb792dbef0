# /// script
# requires-python = ">=3.11"
# dependencies = ["tornado>=6.5", "aiofiles>=24"]
#
# [tool.iobound]
# kind = "framework"
# title = "Tornado"
# interface = "tornado"
# calls = "async"
# ///
"""The workloads in Tornado. Its applications have no lifespan: the server opens and closes `store`."""

import json
import os
import platform

import aiofiles
import server
import tornado
from store import Store
from tornado.web import Application, RequestHandler

store = Store()


class Handler(RequestHandler):
    def answer(self, value, status=200):
        self.set_status(status)
        self.set_header("Content-Type", "application/json")
        self.finish(json.dumps(value, separators=(",", ":"), ensure_ascii=False))

    def text(self, value):
        self.set_header("Content-Type", "text/plain")
        self.finish(value)


class Plain(Handler):
    async def get(self):
        self.text("Hello, World!")


class Message(Handler):
    async def get(self):
        self.answer({"message": "Hello, World!"})


class File(Handler):
    async def get(self):
        async with aiofiles.open(os.environ["FILE_PATH"]) as opened:
            self.text(await opened.read())


class Point(Handler):
    async def get(self):
        self.answer(await store.point(int(self.get_argument("id"))))


class List(Handler):
    async def get(self):
        self.answer(await store.list())


class Multi(Handler):
    async def get(self):
        self.answer(await store.multi([int(number) for number in self.get_argument("ids").split(",")]))


class Insert(Handler):
    async def post(self):
        entry = json.loads(self.request.body)
        await store.insert(entry["name"], entry["quantity"])
        self.answer(entry, 201)


class Cached(Handler):
    async def get(self):
        key = self.get_argument("key")
        self.answer({"key": key, "value": await store.get(key)})


class Wait(Handler):
    async def get(self):
        ms = float(self.get_argument("ms"))
        await store.wait(ms / 1000)
        self.answer({"waited_ms": ms})


class Ran(Handler):
    async def get(self):
        framework = {"framework": f"Tornado {tornado.version}", "debug": str(bool(self.settings.get("debug")))}
        self.answer({"python": platform.python_version(), **framework, **server.ran(), **await store.ran()})


app = Application(
    [
        ("/plain", Plain),
        ("/json", Message),
        ("/file", File),
        ("/sql-point", Point),
        ("/sql-list", List),
        ("/sql-multi", Multi),
        ("/sql-insert", Insert),
        ("/redis-get", Cached),
        ("/db-wait", Wait),
        ("/_ran", Ran),
    ],
    log_function=lambda handler: None,
)
