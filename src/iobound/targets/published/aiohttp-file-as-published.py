# /// script
# requires-python = ">=3.8"
# dependencies = ["aiohttp", "aiofiles"]
#
# [tool.iobound]
# kind = "published"
# title = "aiohttp on its own server, aiofiles"
# comparison = "sync-async-file"
# model = "asyncio"
# environment = "published"
# services = []
# labels = { debug = "False", access_log = "False" }
#
# [tool.iobound.like]
# none = { target = "aiohttp/aiohttp" }
#
# [tool.iobound.workloads.file]
# path = "/"
# answer = "$file"
# ///
import os

import aiofiles
from aiohttp import web


async def read_file(request):
    async with aiofiles.open(os.environ["FILE_PATH"]) as file:
        return web.Response(text=await file.read())


app = web.Application()
app.add_routes([web.get("/", read_file)])

if __name__ == "__main__":
    web.run_app(app, host=os.environ["HOST"], port=int(os.environ["PORT"]))
