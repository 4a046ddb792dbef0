"""What the command and its worker processes say to each other: length-prefixed JSON over pipes."""

from __future__ import annotations

import os
import struct

import msgspec

from iobound.load.spec import LoadSpec
from iobound.records import LoadResult

_LENGTH = struct.Struct("!Q")

STOP = b"stop"


class Order(msgspec.Struct, frozen=True):
    """One worker's share of a load: the spec already divided, and which part of how many it is."""

    spec: LoadSpec
    part: int
    parts: int


class Go(msgspec.Struct, frozen=True, tag=True):
    """Begin at this moment of CLOCK_MONOTONIC."""

    start_ns: int


class Ready(msgspec.Struct, frozen=True, tag=True):
    """All connections are open that can be."""


class Part(msgspec.Struct, frozen=True, tag=True):
    """A worker's result with its lateness as a histogram; ``None`` where it was stopped before recording began."""

    result: LoadResult | None
    late: str | None


class Refused(msgspec.Struct, frozen=True, tag=True):
    """The worker can't: why, and the way out."""

    message: str


Reply = Ready | Part | Refused


def write(fd: int, message: bytes) -> None:
    """Write one message."""
    rest = memoryview(_LENGTH.pack(len(message)) + message)
    while rest:
        rest = rest[os.write(fd, rest) :]


def read(fd: int) -> bytes | None:
    """Read one message; ``None`` at the end."""
    length = _read_exactly(fd, _LENGTH.size)
    return None if length is None else _read_exactly(fd, *_LENGTH.unpack(length))


def _read_exactly(fd: int, size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        more = os.read(fd, size - len(data))
        if not more:
            return None
        data += more
    return bytes(data)
