# /// script
# requires-python = ">=3.8"
# dependencies = ["starlette", "uvicorn"]
#
# [tool.iobound]
# kind = "published"
# title = "Starlette in debug mode on uvicorn"
# comparison = "sync-async-plain"
# model = "asyncio"
# environment = "published"
# services = []
# labels = { debug = "True", access_log = "True" }
#
# [tool.iobound.like]
# none = { target = "starlette/uvicorn-asyncio", settings = { ACCESS_LOG = "1", DEBUG = "1" } }
#
# [tool.iobound.workloads.plain]
# path = "/"
# answer = "Hello, World!"
# ///
import os

import uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route


async def hello(request):
    return PlainTextResponse("Hello, World!")


app = Starlette(debug=True, routes=[Route("/", hello)])

if __name__ == "__main__":
    uvicorn.run(app, host=os.environ["HOST"], port=int(os.environ["PORT"]))
