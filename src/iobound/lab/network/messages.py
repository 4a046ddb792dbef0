"""What a relay and whoever started it tell each other: one JSON object a packet."""

from __future__ import annotations

from typing import Literal

import msgspec

from iobound.lab.network.delay import Link

PACKET_BYTES = 1 << 16


class Upstream(msgspec.Struct, frozen=True):
    """Where a service listens: a host and a port, or a Unix socket."""

    host: str = ""
    port: int = 0
    unix_socket: str | None = None

    def __str__(self) -> str:
        return self.unix_socket or f"{self.host}:{self.port}"


class Order(msgspec.Struct, frozen=True):
    """What a relay is started with: the service, what each way does to bytes, and the Unix socket to be controlled over."""

    upstream: Upstream
    each_way: Link
    control: str


class Ask(msgspec.Struct, frozen=True):
    """A request to a relay. `count` connections are cut, the oldest first; ``None`` cuts all."""

    do: Literal["tell", "stall", "resume", "cut"]
    count: int | None = None


class Traffic(msgspec.Struct, frozen=True):
    """What went over a relay so far, over all its connections, those that ended included.

    `connections` were made, `open` of them are open now, `refused` were not accepted by the service. `turns` counts round
    trips: how often a client went on sending after it had been answered, and the first time it sent.
    """

    connections: int
    open: int
    refused: int
    to_service_bytes: int
    to_client_bytes: int
    turns: int


class Answer(msgspec.Struct, frozen=True):
    """A relay's answer to any request: the port it listens on, how many connections were cut, its traffic."""

    port: int
    cut: int
    traffic: Traffic
