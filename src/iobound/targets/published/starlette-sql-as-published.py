# /// script
# requires-python = ">=3.8"
# dependencies = ["starlette", "uvicorn", "tortoise-orm", "aiomysql[rsa]", "asyncpg"]
#
# [tool.iobound]
# kind = "published"
# title = "Starlette in debug mode on uvicorn, Tortoise-ORM"
# comparison = "sync-async-sql"
# model = "asyncio"
# environment = "published"
# services = ["mariadb", "postgresql"]
# drivers = { mariadb = "aiomysql", postgresql = "asyncpg" }
# labels = { debug = "True", access_log = "True", pool = "5" }
#
# [tool.iobound.like]
# mariadb = { target = "starlette/uvicorn-asyncio/tortoise-aiomysql", settings = { ACCESS_LOG = "1", DEBUG = "1", POOL_SIZE = "5", RESET_ON_RELEASE = "0", AUTOCOMMIT = "1" } }
# postgresql = { target = "starlette/uvicorn-asyncio/tortoise-asyncpg", settings = { ACCESS_LOG = "1", DEBUG = "1", POOL_SIZE = "5", RESET_ON_RELEASE = "0", AUTOCOMMIT = "1" } }
#
# [tool.iobound.workloads.sql-list]
# path = "/items"
# answer = '[$rows]'
# row = '{"id":$id,"name":"$name","quantity":$quantity}'
# between = ","
#
# [tool.iobound.workloads.sql-insert]
# method = "POST"
# path = "/entries"
# headers = { Content-Type = "application/json" }
# body = '{"name":"entry 1","quantity":1}'
# status = 201
# answer = '{"name":"entry 1","quantity":1}'
# expected_failure = "published without awaiting request.json(): every POST answers 500"
# ///
import os

import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
from tortoise import fields
from tortoise.contrib.starlette import register_tortoise
from tortoise.models import Model

# Published on MySQL with aiomysql; asyncpg where the URL names PostgreSQL, which Tortoise spells "postgres".
DATABASE_URL = os.environ["DATABASE_URL"].replace("postgresql://", "postgres://")


class Item(Model):
    id = fields.IntField(pk=True)
    name = fields.CharField(max_length=64)
    quantity = fields.IntField()

    class Meta:
        table = "item"


class Entry(Model):
    id = fields.IntField(pk=True)
    name = fields.CharField(max_length=64)
    quantity = fields.IntField()

    class Meta:
        table = "entry"


async def list_items(request):
    items = await Item.all()
    return JSONResponse([{"id": item.id, "name": item.name, "quantity": item.quantity} for item in items])


async def create_entry(request):
    data = request.json()
    await Entry.create(name=data["name"], quantity=data["quantity"])
    return JSONResponse({"name": data["name"], "quantity": data["quantity"]}, status_code=201)


app = Starlette(
    debug=True,
    routes=[
        Route("/items", list_items, methods=["GET"]),
        Route("/entries", create_entry, methods=["POST"]),
    ],
)
register_tortoise(app, db_url=DATABASE_URL, modules={"models": ["__main__"]})

if __name__ == "__main__":
    uvicorn.run(app, host=os.environ["HOST"], port=int(os.environ["PORT"]))
