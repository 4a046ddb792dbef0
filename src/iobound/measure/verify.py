"""Verify, then time: asks a server every exchange once and holds status and body against what they must be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

from iobound.errors import BadAnswer
from iobound.load.spec import Exchange

AROUND = 20  # bytes shown on each side of the first difference
SHOWN = 300  # bytes shown of an answer with the wrong status


def verify(url: str, exchanges: Iterable[Exchange], timeout_s: float = 10.0) -> None:
    """Ask for `exchanges` one after another; raises `BadAnswer` at the first wrong one, with both sides of the difference.

    Whoever verifies a workload that writes counts the rows.
    """
    for exchange, status, body in answers(url, exchanges, timeout_s):
        _check(f"{exchange.method} {exchange.path}", exchange, status, body)


def answers(url: str, exchanges: Iterable[Exchange], timeout_s: float = 10.0) -> Iterator[tuple[Exchange, int, bytes]]:
    """Ask for `exchanges` one after another; yield each with the status and body it got. Raises `BadAnswer` for silence."""
    address = urlsplit(url)
    kind = HTTPSConnection if address.scheme == "https" else HTTPConnection
    with closing(kind(str(address.hostname), address.port, timeout=timeout_s)) as connection:
        for exchange in exchanges:
            asked = f"{exchange.method} {exchange.path}"
            try:
                connection.request(exchange.method, exchange.path, exchange.body or None, exchange.headers)
                response = connection.getresponse()
                body = response.read()
            except TimeoutError as error:
                raise BadAnswer(f"{asked} wasn't answered within {timeout_s:g} s") from error
            except (OSError, HTTPException) as error:
                raise BadAnswer(f"{asked} wasn't answered: {error!r}") from error
            yield exchange, response.status, body


def _check(asked: str, exchange: Exchange, status: int, body: bytes) -> None:
    if status != exchange.status and not (exchange.status is None and 200 <= status < 400):
        expected = "a success" if exchange.status is None else exchange.status
        shown = " ".join(body[:SHOWN].decode(errors="replace").split())
        raise BadAnswer(f"{asked} answered {status} instead of {expected}: {shown}")
    if exchange.answer is None or body == exchange.answer:
        return
    shorter = min(len(body), len(exchange.answer))
    at = next((place for place in range(shorter) if body[place] != exchange.answer[place]), shorter)
    around = slice(max(0, at - AROUND), at + AROUND)
    raise BadAnswer(
        f"{asked} answered {len(body)} bytes instead of {len(exchange.answer)}, the first wrong one at {at}: "
        f"{body[around]!r} instead of {exchange.answer[around]!r}"
    )
