# /// script
# requires-python = ">=3.11"
# dependencies = ["django>=5.2", "anyio>=4"]
#
# [tool.iobound]
# kind = "framework"
# title = "Django, async views"
# interface = "asgi"
# calls = "async"
# ///
"""The workloads in Django, as one file, with no middleware: the usual ones would run in a thread."""

import json
import os
import platform
import traceback

import anyio
import django
import server
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.http import HttpResponse, JsonResponse
from django.urls import path
from django.views.decorators.http import require_POST

settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], MIDDLEWARE=[], LOGGING_CONFIG=None)

from store import Store

store = Store()


def answer(value, status=200):
    layout = {"separators": (",", ":"), "ensure_ascii": False}
    return JsonResponse(value, safe=False, json_dumps_params=layout, status=status)


async def plain(request):
    return HttpResponse("Hello, World!", content_type="text/plain")


async def message(request):
    return answer({"message": "Hello, World!"})


async def file(request):
    return HttpResponse(await anyio.Path(os.environ["FILE_PATH"]).read_bytes(), content_type="text/plain")


async def point(request):
    return answer(await store.point(int(request.GET["id"])))


async def rows(request):
    return answer(await store.list())


async def multi(request):
    return answer(await store.multi([int(number) for number in request.GET["ids"].split(",")]))


@require_POST
async def insert(request):
    entry = json.loads(request.body)
    await store.insert(entry["name"], entry["quantity"])
    return answer(entry, 201)


async def cached(request):
    key = request.GET["key"]
    return answer({"key": key, "value": await store.get(key)})


async def wait(request):
    ms = float(request.GET["ms"])
    await store.wait(ms / 1000)
    return answer({"waited_ms": ms})


async def ran(request):
    framework = {"framework": f"Django {django.__version__}", "debug": str(settings.DEBUG)}
    return answer({"python": platform.python_version(), **framework, **server.ran(), **await store.ran()})


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

handler = get_asgi_application()


# Django knows no lifespan.
async def app(scope, receive, send):
    serve = lifespan if scope["type"] == "lifespan" else handler
    await serve(scope, receive, send)


async def lifespan(scope, receive, send):
    await receive()
    try:
        await store.open()
    except Exception:
        await send({"type": "lifespan.startup.failed", "message": traceback.format_exc()})
        raise
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await store.close()
    await send({"type": "lifespan.shutdown.complete"})
