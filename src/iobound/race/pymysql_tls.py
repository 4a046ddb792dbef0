"""PyMySQL 1.2 loads all certificates of the machine for each connection, before it asks whether the server speaks TLS.

That takes 15 to 40 ms, as long as several schedules, and gives the same each time; while something is explored it is done once.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pymysql.connections import Connection


@contextmanager
def loaded_once() -> Iterator[None]:
    """Let connections without TLS options of their own share one context."""
    connection: Any = Connection
    make = getattr(connection, "_create_ssl_ctx", None)
    if make is None:  # another version
        yield
        return
    made: list[Any] = []
    lock = threading.Lock()

    def create(self: Any, options: Any) -> Any:
        if options != {}:
            return make(self, options)
        with lock:
            if not made:
                made.append(make(self, options))
        return made[0]

    connection._create_ssl_ctx = create
    try:
        yield
    finally:
        connection._create_ssl_ctx = make
