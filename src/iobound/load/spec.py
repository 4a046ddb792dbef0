"""What a load engine is asked to do: the exchanges and how they are offered."""

from __future__ import annotations

from typing import Literal

import msgspec


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """One request and the answer it must get.

    `path` is the request target (path and query). `status` ``None`` accepts any 2xx or 3xx; `answer` ``None`` accepts any
    complete body. `headers` are sent as given, after ``Host`` and, where there is a body, ``Content-Length``.
    """

    method: str = "GET"
    path: str = "/"
    headers: dict[str, str] = {}
    body: bytes = b""
    status: int | None = None
    answer: bytes | None = None


class LoadSpec(msgspec.Struct, frozen=True, kw_only=True):
    """How exchanges are offered to one server, in one uninterrupted block.

    `url` is scheme, host and port (``http://127.0.0.1:8000``, ``https://[::1]:8443``); `unix_socket` replaces the address.
    The exchanges are rotated through. `rate` ``None`` is the closed loop: every connection sends its next request
    `think_s` after the last answer. A number is the open loop: requests a second at `arrivals`, latency counted from the
    intended send time, at most `connections` in flight. `warmup_s` is offered first and not recorded. `cpus` are the cores
    that the generator's processes are pinned to (``None``: inherited).
    """

    url: str
    exchanges: list[Exchange]
    connections: int = 10
    duration_s: float = 10.0
    warmup_s: float = 0.0
    rate: float | None = None
    arrivals: Literal["constant", "poisson"] = "constant"
    seed: int = 0
    keep_alive: bool = True
    think_s: float = 0.0
    timeout_s: float = 10.0
    verify_tls: bool = True
    unix_socket: str | None = None
    processes: int = 1
    cpus: list[int] | None = None
