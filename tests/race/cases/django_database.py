"""Django on the database of DATABASE_URL, which isn't the same in every exploration."""

import os
from contextlib import contextmanager
from urllib.parse import urlsplit

import django
from django.conf import settings

if not settings.configured:
    settings.configure(
        DATABASES={"default": {"ENGINE": "django.db.backends.postgresql"}},
        DEFAULT_AUTO_FIELD="django.db.models.AutoField",
        USE_TZ=False,
    )
    django.setup()

from django.db import connections, models, transaction

__all__ = ["models", "on_database", "transaction"]


@contextmanager
def on_database():
    """Let this thread's connection be to DATABASE_URL, and close it at the end."""
    parts = urlsplit(os.environ["DATABASE_URL"])
    connections["default"].settings_dict.update(
        NAME=parts.path[1:], USER=parts.username, PASSWORD=parts.password, HOST=parts.hostname, PORT=parts.port
    )
    try:
        yield
    finally:
        connections.close_all()
