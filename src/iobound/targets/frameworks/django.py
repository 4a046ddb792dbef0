# /// script
# requires-python = ">=3.11"
# dependencies = ["django>=5.2"]
#
# [tool.iobound]
# kind = "framework"
# title = "Django, sync views"
# interface = "wsgi"
# calls = "sync"
# ///
"""The workloads in Django, as one file, with no middleware but the one that tells the length of an answer."""

import atexit
import json
import os
import platform
from pathlib import Path

import django
import server
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse, JsonResponse
from django.urls import path
from django.views.decorators.http import require_POST

settings.configure(
    ROOT_URLCONF=__name__,
    ALLOWED_HOSTS=["*"],
    MIDDLEWARE=["django.middleware.common.CommonMiddleware"],
    LOGGING_CONFIG=None,
)

from store import Store

store = Store()
store.open()
atexit.register(store.close)


def answer(value, status=200):
    layout = {"separators": (",", ":"), "ensure_ascii": False}
    return JsonResponse(value, safe=False, json_dumps_params=layout, status=status)


def plain(request):
    return HttpResponse("Hello, World!", content_type="text/plain")


def message(request):
    return answer({"message": "Hello, World!"})


def file(request):
    return HttpResponse(Path(os.environ["FILE_PATH"]).read_bytes(), content_type="text/plain")


def point(request):
    return answer(store.point(int(request.GET["id"])))


def rows(request):
    return answer(store.list())


def multi(request):
    return answer(store.multi([int(number) for number in request.GET["ids"].split(",")]))


@require_POST
def insert(request):
    entry = json.loads(request.body)
    store.insert(entry["name"], entry["quantity"])
    return answer(entry, 201)


def cached(request):
    key = request.GET["key"]
    return answer({"key": key, "value": store.get(key)})


def wait(request):
    ms = float(request.GET["ms"])
    store.wait(ms / 1000)
    return answer({"waited_ms": ms})


def ran(request):
    framework = {"framework": f"Django {django.__version__}", "debug": str(settings.DEBUG)}
    return answer({"python": platform.python_version(), **framework, **server.ran(), **store.ran()})


urlpatterns = [
    path("plain", plain),
    path("json", message),
    path("file", file),
    path("sql-point", point),
    path("sql-list", rows),
    path("sql-multi", multi),
    path("sql-insert", insert),
    path("redis-get", cached),
    path("db-wait", wait),
    path("_ran", ran),
]

app = get_wsgi_application()
