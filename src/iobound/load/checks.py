"""What is refused before any load is offered."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from iobound.errors import UsageError
from iobound.load.spec import Exchange, LoadSpec

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_TARGET = re.compile(r"[!-~]+")
_LONGEST_SOCKET_PATH = 107


def check(spec: LoadSpec) -> None:
    """Raise `UsageError` for what can't be offered, naming the field and what it may be."""
    _check_url(spec.url)
    at_least_one = {"connections": spec.connections, "processes": spec.processes}
    for name, value in at_least_one.items():
        if value < 1:
            raise UsageError(f"{name} must be at least 1, not {value}")
    if spec.processes > spec.connections:
        raise UsageError(f"processes ({spec.processes}) can't be more than connections ({spec.connections})")
    above_zero = {"duration": spec.duration_s, "timeout": spec.timeout_s, "rate": spec.rate}
    for name, seconds in above_zero.items():
        if seconds is not None and not 0 < seconds < float("inf"):
            raise UsageError(f"{name} must be more than 0, not {seconds:g}")
    not_negative = {"warmup": spec.warmup_s, "think time": spec.think_s}
    for name, seconds in not_negative.items():
        if not 0 <= seconds < float("inf"):
            raise UsageError(f"{name} can't be negative, not {seconds:g}")
    if spec.rate is not None and spec.think_s:
        raise UsageError(
            "think time belongs to the closed loop: an open loop (rate) sends when a request is due; leave one out"
        )
    if spec.unix_socket is not None and len(spec.unix_socket.encode()) > _LONGEST_SOCKET_PATH:
        raise UsageError(f"the path of a Unix socket may have {_LONGEST_SOCKET_PATH} bytes: {spec.unix_socket}")
    if not spec.exchanges:
        raise UsageError("there is nothing to ask: give at least one exchange")
    for exchange in spec.exchanges:
        _check_exchange(exchange)


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"{url!r} is no URL ({error}); write it as http://127.0.0.1:8000/") from None
    if parts.scheme not in {"http", "https"}:
        raise UsageError(f"{url!r} must begin with http:// or https://")
    if not parts.hostname or port == 0 or not url.isascii() or not url.isprintable() or " " in url:
        raise UsageError(f"{url!r} names no host and port; write it as http://127.0.0.1:8000/")
    if parts.username is not None:
        raise UsageError(f"{url!r} holds a user name; send a header instead: Authorization: Basic …")


def _check_exchange(exchange: Exchange) -> None:
    if not _TOKEN.fullmatch(exchange.method):
        raise UsageError(f"{exchange.method!r} is no HTTP method")
    if exchange.method == "CONNECT":
        raise UsageError("CONNECT opens a tunnel, which isn't something to measure with requests")
    if not _TARGET.fullmatch(exchange.path) or not exchange.path.startswith(("/", "*")):
        raise UsageError(f"path {exchange.path!r} must begin with / and be percent-encoded (no spaces, ASCII only)")
    for name, value in exchange.headers.items():
        if not _TOKEN.fullmatch(name):
            raise UsageError(f"{name!r} is no name of a header")
        try:
            value.encode("latin-1")
        except UnicodeEncodeError:
            raise UsageError(f"header {name}: {value!r} holds characters beyond Latin-1") from None
        if {"\r", "\n", "\0"} & set(value):
            raise UsageError(f"header {name}: {value!r} holds a line break")
    given = next((value for name, value in exchange.headers.items() if name.lower() == "content-length"), None)
    if given is not None and given.strip() != str(len(exchange.body)):
        raise UsageError(f"header Content-Length: {given} isn't the length of the body ({len(exchange.body)})")
