# /// script
# requires-python = ">=3.11"
# dependencies = ["django>=5.2", "psycopg[binary]>=3.2", "psycopg-pool>=3.2"]
#
# [tool.iobound]
# kind = "store"
# title = "Django's ORM on psycopg 3"
# service = "postgresql"
# calls = "async"
# twin = "django-psycopg"
# ///
"""Django's ORM with its asynchronous methods, in any framework: each request's queries run in a thread of its own.

On psycopg 3 with Django's pool; every statement commits by itself.
"""

import os
from contextlib import asynccontextmanager
from urllib.parse import unquote, urlsplit

os.environ["PSYCOPG_IMPL"] = "binary"

import django
import psycopg
from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.conf import settings
from django.db import connection, models

if not settings.configured:
    settings.configure()
url = urlsplit(os.environ["DATABASE_URL"])
size = int(os.environ.get("POOL_SIZE", "10"))
settings.DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": url.hostname,
        "PORT": url.port or 5432,
        "USER": unquote(url.username or ""),
        "PASSWORD": unquote(url.password or ""),
        "NAME": url.path[1:],
        "OPTIONS": {"pool": {"min_size": size, "max_size": size}},
    }
}
django.setup()


class Item(models.Model):
    id = models.IntegerField(primary_key=True)
    name = models.CharField(max_length=64)
    quantity = models.IntegerField()

    class Meta:
        app_label, db_table = "store", "item"

    def as_dict(self):
        return {"id": self.id, "name": self.name, "quantity": self.quantity}


class Entry(models.Model):
    id = models.AutoField(primary_key=True)
    name = models.CharField(max_length=64)
    quantity = models.IntegerField()

    class Meta:
        app_label, db_table = "store", "entry"


@asynccontextmanager
async def request():
    """Run queries in one thread and give its connection back at the end, as Django does by itself for its own requests."""
    async with ThreadSensitiveContext():
        try:
            yield
        finally:
            await give_back()


@sync_to_async
def give_back():
    connection.close()


@sync_to_async
def sleep(seconds):
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(%s)", [seconds])


@sync_to_async
def labels():
    connection.ensure_connection()
    return {
        "orm": f"Django {django.__version__}",
        "driver": f"psycopg {psycopg.__version__}",
        "implementation": psycopg.pq.__impl__,
        "autocommit": str(connection.connection.autocommit),
        "pool": str(connection.pool.max_size),
    }


class Store:
    async def open(self):
        await self.ran()

    async def close(self):
        connection.close_pool()

    @request()
    async def point(self, number):
        return (await Item.objects.aget(id=number)).as_dict()

    @request()
    async def list(self):
        return [item.as_dict() async for item in Item.objects.order_by("id")]

    @request()
    async def multi(self, numbers):
        return [(await Item.objects.aget(id=number)).as_dict() for number in numbers]

    @request()
    async def insert(self, name, quantity):
        await Entry.objects.acreate(name=name, quantity=quantity)

    @request()
    async def wait(self, seconds):
        await sleep(seconds)

    @request()
    async def ran(self):
        return await labels()
