# /// script
# requires-python = ">=3.11"
# dependencies = ["django>=5.2", "psycopg[binary]>=3.2", "psycopg-pool>=3.2"]
#
# [tool.iobound]
# kind = "store"
# title = "Django's ORM on psycopg 3"
# service = "postgresql"
# calls = "sync"
# twin = "django-psycopg-async"
# ///
"""Django's ORM on psycopg 3 with its pool, in any framework; every statement commits by itself."""

import os
from contextlib import contextmanager
from urllib.parse import unquote, urlsplit

os.environ["PSYCOPG_IMPL"] = "binary"

import django
import psycopg
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


@contextmanager
def request():
    """Give the connection back to the pool at the end, as Django does by itself at the end of its own requests."""
    try:
        yield
    finally:
        connection.close()


class Store:
    def open(self):
        with request():
            connection.ensure_connection()

    def close(self):
        connection.close_pool()

    @request()
    def point(self, number):
        return Item.objects.get(id=number).as_dict()

    @request()
    def list(self):
        return [item.as_dict() for item in Item.objects.order_by("id")]

    @request()
    def multi(self, numbers):
        return [Item.objects.get(id=number).as_dict() for number in numbers]

    @request()
    def insert(self, name, quantity):
        Entry.objects.create(name=name, quantity=quantity)

    @request()
    def wait(self, seconds):
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(%s)", [seconds])

    @request()
    def ran(self):
        connection.ensure_connection()
        return {
            "orm": f"Django {django.__version__}",
            "driver": f"psycopg {psycopg.__version__}",
            "implementation": psycopg.pq.__impl__,
            "autocommit": str(connection.connection.autocommit),
            "pool": str(connection.pool.max_size),
        }
