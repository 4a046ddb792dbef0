# /// script
# requires-python = ">=3.8"
# dependencies = ["starlette", "uvicorn", "redis"]
#
# [tool.iobound]
# kind = "published"
# title = "Starlette in debug mode on uvicorn, redis.asyncio"
# comparison = "sync-async-redis"
# model = "asyncio"
# environment = "published"
# services = ["valkey"]
# drivers = { valkey = "redis" }
# labels = { debug = "True", access_log = "True", pool = "unbounded" }
#
# [tool.iobound.like]
# valkey = { target = "starlette/uvicorn-asyncio/redis-py-async", settings = { ACCESS_LOG = "1", DEBUG = "1" } }
#
# [tool.iobound.workloads.redis-get]
# path = "/"
# answer = "value 919 of the cache"
# ///
import os

import redis.asyncio as redis
import uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

client = redis.Redis.from_url(os.environ["CACHE_URL"])


async def get_value(request):
    return PlainTextResponse(await client.get("key:1"))


app = Starlette(debug=True, routes=[Route("/", get_value)])

if __name__ == "__main__":
    uvicorn.run(app, host=os.environ["HOST"], port=int(os.environ["PORT"]))
