# /// script
# requires-python = ">=3.8"
# dependencies = ["aiohttp"]
#
# [tool.iobound]
# kind = "published"
# title = "aiohttp on its own server"
# comparison = "sync-async-plain"
# model = "asyncio"
# environment = "published"
# services = []
# labels = { debug = "False", access_log = "False" }
#
# [tool.iobound.like]
# none = { target = "aiohttp/aiohttp" }
#
# [tool.iobound.workloads.plain]
# path = "/"
# answer = "Hello, World!"
# ///
import os

from aiohttp import web


async def hello(request):
    return web.Response(text="Hello, World!")


app = web.Application()
app.add_routes([web.get("/", hello)])

if __name__ == "__main__":
    web.run_app(app, host=os.environ["HOST"], port=int(os.environ["PORT"]))
