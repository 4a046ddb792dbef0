"""Every server: its labels are those of what runs, whatever was asked for."""

from __future__ import annotations

import psutil
import pytest

from iobound.lab import catalogue
from iobound.lab.processes import tree
from iobound.lab.targets import launch

FRAMEWORKS = {
    "wsgi": "bare-wsgi",
    "asgi": "bare-asgi",
    **{own: own for own in ("aiohttp", "robyn", "sanic", "tornado")},
}
STANDARD_LOOP = "asyncio.unix_events._UnixSelectorEventLoop"
EXPECTED = {
    "aiohttp": {"loop": STANDARD_LOOP, "parser": "aiohttp._http_parser", "keep_alive": "True"},
    "cheroot": {"worker": "ThreadPool", "threads": "4", "keep_alive": "True"},
    "daphne": {"worker": "AsyncioSelectorReactor", "loop": STANDARD_LOOP, "keep_alive": "True"},
    "granian-asgi": {"loop": "uvloop.Loop", "keep_alive": "True"},
    "granian-wsgi": {"threads": "4", "keep_alive": "True"},
    "gunicorn-gevent": {
        "worker": "GeventWorker",
        "loop": "gevent.libev.corecext.loop",
        "patched": "True",
        "keep_alive": "True",
    },
    "gunicorn-gthread": {"worker": "ThreadWorker", "threads": "4", "keep_alive": "True"},
    "gunicorn-sync": {"worker": "SyncWorker", "threads": "1", "keep_alive": "False"},
    "gunicorn-uvicorn": {
        "worker": "UvicornWorker",
        "loop": "uvloop.Loop",
        "parser": "HttpToolsProtocol",
        "keep_alive": "True",
    },
    "hypercorn": {"worker": "asyncio", "loop": STANDARD_LOOP, "parser": "H11Protocol", "keep_alive": "True"},
    "robyn": {"loop": "uvloop.Loop", "keep_alive": "True"},
    "sanic": {"loop": "uvloop.Loop", "parser": "sanic.http.http1.Http", "keep_alive": "True"},
    "tornado": {"loop": STANDARD_LOOP, "keep_alive": "True"},
    "uvicorn-asyncio": {
        "loop": STANDARD_LOOP,
        "parser": "H11Protocol",
        "keep_alive": "True",
    },
    "uvicorn-uvloop": {"loop": "uvloop.Loop", "parser": "HttpToolsProtocol", "keep_alive": "True"},
    "uwsgi": {"threads": "4", "keep_alive": "True"},
    "waitress": {"threads": "4", "keep_alive": "True"},
    "werkzeug": {"worker": "ThreadedWSGIServer", "threads": "one per request", "keep_alive": "False"},
}
SERVERS = catalogue.own().servers


@pytest.mark.parametrize("server", SERVERS)
def test_a_server_tells_what_runs(server):
    about = SERVERS[server].description
    framework = FRAMEWORKS[about.accepts[0]]
    workers = "2" if "WORKERS" in about.knobs else "1"
    with launch(catalogue.find(f"{framework}/{server}"), settings={"WORKERS": workers, "THREADS": "4"}) as running:
        ran = running.ran()
        processes = [psutil.Process(pid) for pid in tree(running.pid)]
        serving = [process for process in processes if "resource_tracker" not in " ".join(process.cmdline())]
    assert ran.items() >= EXPECTED[server].items()
    assert ran["server"].split()[0].lower() in server
    assert ran["workers"] == workers
    # A master beside its workers, but for servers that serve in the process that was started. Some have a helper too.
    assert len(serving) == (1 if workers == "1" else 4 if server in {"sanic", "uwsgi"} else 3)


@pytest.mark.parametrize("framework", catalogue.own().frameworks)
def test_a_framework_tells_its_version_and_that_it_does_not_debug(framework):
    servers = {"wsgi": "werkzeug", "asgi": "uvicorn-uvloop"}
    interface = catalogue.own().frameworks[framework].description.interface
    with launch(catalogue.find(f"{framework}/{servers.get(interface, interface)}"), settings={}) as running:
        ran = running.ran()
    assert ran["python"].startswith("3.")
    if framework.startswith("bare"):
        assert ran["framework"] == "none"
    else:
        assert ran["framework"].split()[0].lower() in framework
        assert ran["debug"] == "False"
