# /// script
# requires-python = ">=3.8"
# dependencies = ["starlette", "uvicorn", "anyio"]
#
# [tool.iobound]
# kind = "published"
# title = "Starlette in debug mode on uvicorn, anyio.Path"
# comparison = "sync-async-file"
# model = "asyncio"
# environment = "published"
# services = []
# labels = { debug = "True", access_log = "True" }
#
# [tool.iobound.like]
# none = { target = "starlette/uvicorn-asyncio", settings = { ACCESS_LOG = "1", DEBUG = "1" } }
#
# [tool.iobound.workloads.file]
# path = "/"
# answer = "$file"
# ///
import os

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route


async def read_file(request):
    return PlainTextResponse(await anyio.Path(os.environ["FILE_PATH"]).read_text())


app = Starlette(debug=True, routes=[Route("/", read_file)])

if __name__ == "__main__":
    uvicorn.run(app, host=os.environ["HOST"], port=int(os.environ["PORT"]))
