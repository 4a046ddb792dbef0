# /// script
# requires-python = ">=3.11"
# dependencies = ["locust"]
# ///
"""The program that runs in Locust's own environment: one process, users without wait time, one recorded block.

Run by path, with nothing of iobound importable. Reads one line of JSON from standard input, ``{"user", "spec"}``, the spec as
`iobound.load.spec.LoadSpec` is written; prints one object of counts. The end of standard input means that iobound is gone.
"""

from __future__ import annotations

import locust  # isort: skip  (patches the standard library for gevent, hence first)

import http.client
import itertools
import json
import os
import resource
import socket
import ssl
import sys
import time
import traceback
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import gevent
import gevent.event
import gevent.os
import requests
import urllib3
from geventhttpclient.response import HTTPConnectionClosed, HTTPParseError
from locust.contrib.fasthttp import LocustBadStatusCode
from locust.env import Environment
from locust.exception import CatchResponseError

KINDS: list[tuple[tuple[type[BaseException], ...], str]] = [
    ((TimeoutError, requests.Timeout), "timeout"),
    ((ConnectionRefusedError,), "refused"),
    ((socket.gaierror,), "name"),
    ((ssl.SSLError, requests.exceptions.SSLError), "tls"),
    ((http.client.IncompleteRead, urllib3.exceptions.IncompleteRead), "short-body"),
    ((ConnectionResetError, BrokenPipeError, HTTPConnectionClosed), "reset"),
]


def kind_of(failure: BaseException) -> str:
    """Return the kind of a failed request, from the first exception in its chain that tells."""
    if isinstance(failure, CatchResponseError):
        return str(failure)
    chain: list[BaseException] = [failure]
    for link in chain:
        for types, kind in KINDS:
            if isinstance(link, types):
                return kind
        if isinstance(link, HTTPParseError) and str(link) == "Incomplete response.":
            return "short-body"
        causes = (link.__cause__, link.__context__, getattr(link, "original", None), *link.args)
        chain += [cause for cause in causes if isinstance(cause, BaseException) and cause not in chain]
    return "protocol"


@dataclass
class Block:
    """What Locust's request events told of the requests that began in the block. Times are `time.time`, as in the events.

    `busy_s` is the time that requests spent in flight within the block, those included that began before it.
    """

    opened: float | None = None
    sent: dict[Any, float] = field(default_factory=dict)
    latency_us: Counter[int] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    status: Counter[int] = field(default_factory=Counter)
    bytes_received: int = 0
    connects: int = 0
    busy_s: float = 0.0

    def record(
        self,
        response_time: float,
        response_length: int,
        exception: BaseException | None,
        start_time: float,
        response: Any,
        **others: object,
    ) -> None:
        """Count one finished request; a listener of Locust's event ``request``."""
        if self.opened is None:
            return
        self.busy_s += response_time / 1e3 - max(0.0, self.opened - start_time)
        if start_time < self.opened:
            return
        self.bytes_received += response_length
        if exception is None:
            self.latency_us[round(response_time * 1e3)] += 1
        else:
            self.errors[kind_of(exception)] += 1
        if exception is None or isinstance(exception, CatchResponseError):
            self.status[response.status_code] += 1

    def close(self, now: float) -> dict[str, object]:
        """Return the counts, with the requests that are still in flight."""
        assert self.opened is not None
        opened = self.opened
        self.busy_s += sum(now - max(began, opened) for began in self.sent.values())
        return {
            "unanswered": sum(began >= opened for began in self.sent.values()),
            "latency_us": self.latency_us,
            "errors": self.errors,
            "status": self.status,
            "bytes_received": self.bytes_received,
            "connects": self.connects,
            "busy_s": self.busy_s,
        }


def users(kind: str, spec: dict[str, Any], block: Block, go: gevent.event.Event) -> type[locust.User]:
    """Return the user class: every user sends the next exchange as soon as its last one is answered."""
    rotation: Iterator[dict[str, Any]] = itertools.cycle([decoded(exchange) for exchange in spec["exchanges"]])
    closing = {} if spec["keep_alive"] else {"Connection": "close"}
    options = {"timeout": spec["timeout_s"], "verify": spec["verify_tls"]} if kind == "HttpUser" else {}

    class Visitor(getattr(locust, kind)):  # type: ignore[misc]
        wait_time = locust.constant(spec["think_s"])
        network_timeout = connection_timeout = spec["timeout_s"]
        insecure = not spec["verify_tls"]

        def on_start(self) -> None:
            go.wait()

        @locust.task  # type: ignore[untyped-decorator]
        def visit(self) -> None:
            exchange = next(rotation)
            block.sent[self] = time.time()
            with self.client.request(
                exchange["method"],
                exchange["path"],
                headers=exchange["headers"] | closing,
                data=exchange["body"] or None,
                allow_redirects=False,
                catch_response=True,
                **options,
            ) as response:
                judge(exchange, response)
            del block.sent[self]

    return Visitor


def decoded(exchange: dict[str, Any]) -> dict[str, Any]:
    """Return `exchange` with its bytes, which JSON carries in base64."""
    return exchange | {name: b64decode(exchange[name]) for name in ("body", "answer") if exchange[name] is not None}


def judge(exchange: dict[str, Any], response: Any) -> None:
    """Tell Locust whether a complete response is the right one; what it failed to receive it knows itself."""
    failure = response.request_meta["exception"]
    if response.status_code == 0 or (failure is not None and not isinstance(failure, LocustBadStatusCode)):
        return
    expected = exchange["status"]
    if response.status_code != expected and (expected is not None or not 200 <= response.status_code < 400):
        response.failure("bad-status")
    elif exchange["answer"] is not None and response.content != exchange["answer"]:
        response.failure("wrong-body")
    else:
        response.success()


def count_connects(block: Block) -> None:
    """Count the connections that are established while the block is open; both of Locust's clients open them here."""
    connect = socket.socket.connect

    def counting(self: socket.socket, address: Any) -> None:
        connect(self, address)
        block.connects += block.opened is not None

    socket.socket.connect = counting  # type: ignore[method-assign,assignment]


def end_with_iobound() -> None:
    """End this process once standard input ends."""
    gevent.os.make_nonblocking(0)
    gevent.os.nb_read(0, 1)
    os._exit(1)


def main() -> None:
    """Run one block and print what was counted."""
    order = json.loads(sys.stdin.buffer.readline())
    spec = order["spec"]
    if spec["cpus"]:
        os.sched_setaffinity(0, spec["cpus"])
    gevent.spawn(end_with_iobound)
    block, go = Block(), gevent.event.Event()
    count_connects(block)
    environment = Environment(user_classes=[users(order["user"], spec, block, go)], host=spec["url"])
    environment.events.request.add_listener(block.record)
    runner = environment.create_local_runner()
    runner.start(spec["connections"], spawn_rate=spec["connections"])
    while runner.user_count < spec["connections"]:
        gevent.sleep(0.01)
    go.set()
    if spec["warmup_s"]:
        gevent.sleep(spec["warmup_s"])
    before, started = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
    block.opened = time.time()
    gevent.sleep(spec["duration_s"])
    counts = block.close(time.time())
    after = resource.getrusage(resource.RUSAGE_SELF)
    if runner.exceptions:
        raise RuntimeError("; ".join(problem["msg"] for problem in runner.exceptions.values()))
    counts |= {
        "started": started,
        "seconds": time.monotonic() - started,
        "cpu_user_s": after.ru_utime - before.ru_utime,
        "cpu_system_s": after.ru_stime - before.ru_stime,
    }
    print(json.dumps(counts), flush=True)


if __name__ == "__main__":
    try:
        main()
    except Exception:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)  # at once: stopping the users one after another would let the others send more
