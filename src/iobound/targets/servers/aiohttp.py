# /// script
# requires-python = ">=3.11"
# dependencies = ["aiohttp>=3.11"]
#
# [tool.iobound]
# kind = "server"
# title = "aiohttp's own server"
# accepts = ["aiohttp"]
# model = "asyncio"
# loop = "asyncio"
# parser = "aiohttp"
# ///
"""aiohttp's own server, ``web.run_app``, on the standard event loop."""

import asyncio
import os

import aiohttp
from aiohttp import http_parser, web


def ran():
    loop = type(asyncio.get_running_loop())
    return {
        "server": f"aiohttp {aiohttp.__version__}",
        "loop": f"{loop.__module__}.{loop.__name__}",
        "parser": http_parser.HttpRequestParser.__module__,
        "workers": "1",
    }


if __name__ == "__main__":
    from framework import app

    web.run_app(
        app,
        host=os.environ.get("HOST", "127.0.0.1"),
        port=int(os.environ["PORT"]),
        keepalive_timeout=float(os.environ.get("KEEP_ALIVE", "75")),
        access_log=None,
        print=None,
        loop=asyncio.SelectorEventLoop(),
    )
