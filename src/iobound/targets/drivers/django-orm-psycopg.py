# /// script
# requires-python = ">=3.8"
# dependencies = ["django>=4.2", "psycopg[binary]>=3.1"]
#
# [tool.iobound]
# kind = "driver"
# title = "Django's ORM on psycopg 3 (C)"
# service = "postgresql"
# calls = "sync"
# models = ["threads", "gevent", "processes"]
# offers = "things"
# layer = "orm"
# beneath = "psycopg"
# ///
"""Django's ORM on psycopg 3 (C): every statement commits by itself, but between `begin` and `rollback`."""

import os
from urllib.parse import unquote, urlsplit

os.environ["PSYCOPG_IMPL"] = "binary"

import django
import psycopg
from django.conf import settings
from django.db import connection, models, transaction

settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.postgresql"}})
django.setup()


class Columns(models.Model):
    x = models.IntegerField(primary_key=True)
    y = models.CharField(max_length=255)
    z = models.FloatField()

    class Meta:
        abstract = True


class Thing(Columns):
    class Meta:
        app_label, db_table = "driver", "test_things"


class Point(Columns):
    class Meta:
        app_label, db_table = "driver", "test_points"


KINDS = {"i": models.IntegerField, "s": lambda: models.CharField(max_length=255), "f": models.FloatField}
columns = {f"{kind}{number}": KINDS[kind]() for kind in KINDS for number in range(10)}
meta = type("Meta", (), {"app_label": "driver", "db_table": "test_wide"})
named = {"__module__": __name__, "Meta": meta, "id": models.IntegerField(primary_key=True)}
Wide = type("Wide", (models.Model,), {**named, **columns})


def connect(url):
    at = urlsplit(url)
    connection.settings_dict.update(
        HOST=at.hostname,
        PORT=at.port or 5432,
        USER=unquote(at.username or ""),
        PASSWORD=unquote(at.password or ""),
        NAME=at.path[1:],
    )
    connection.ensure_connection()
    return Things(connection.connection)


class Things:
    def __init__(self, raw):
        self.raw = raw

    def insert(self, x, y, z):
        Thing.objects.create(x=x, y=y, z=z)

    def select(self):
        return Thing.objects.all()

    def point(self, x):
        return Point.objects.get(x=x)

    def wide(self):
        return Wide.objects.all()

    def begin(self):
        transaction.set_autocommit(False)

    def rollback(self):
        transaction.rollback()
        transaction.set_autocommit(True)

    def close(self):
        connection.close()

    def fileno(self):
        return self.raw.fileno()


def ran(things):
    return {
        "library": "Django " + django.__version__,
        "driver": "psycopg " + psycopg.__version__,
        "implementation": "Python" if psycopg.pq.__impl__ == "python" else "C",
        "autocommit": str(things.raw.autocommit),
    }
