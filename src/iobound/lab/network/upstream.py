"""Where the service of a URL listens, and the same URL with a relay's address in its place."""

from __future__ import annotations

import socket
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from iobound.errors import LabError, UsageError
from iobound.lab import urls
from iobound.lab.network.messages import Upstream
from iobound.lab.processes import LOOPBACK

PORTS = {"postgresql": 5432, "mysql": 3306, "redis": 6379}
SOCKETS = ("host", "unix_socket")  # how URLs of PostgreSQL and of MySQL name a Unix socket
PATIENCE_S = 5.0


def of(url: str) -> Upstream:
    """Return where `url` says that its service listens; raises `UsageError` for one that no network leads to."""
    parts = urlsplit(url)
    scheme = parts.scheme.partition("+")[0]
    if scheme not in PORTS:
        raise UsageError(
            f"no network leads to {urls.shown(url)}, so that no round-trip time can be put before it; leave --rtt out"
        )
    query = dict(parse_qsl(parts.query))
    port = parts.port or int(query.get("port", PORTS[scheme]))
    path = next((query[name] for name in SOCKETS if query.get(name, "").startswith("/")), None)
    if path is None:
        return Upstream(unquote(parts.hostname or query.get("host", "localhost")), port)
    return Upstream(unix_socket=f"{path}/.s.PGSQL.{port}" if scheme == "postgresql" else path)


def resolved(to: Upstream) -> Upstream:
    """Return `to` by its address: of several addresses of a name, the first that accepts a connection.

    Raises `LabError` where none does.
    """
    try:
        if to.unix_socket is not None:
            with socket.socket(socket.AF_UNIX) as probe:
                probe.settimeout(PATIENCE_S)
                probe.connect(to.unix_socket)
            return to
        with socket.create_connection((to.host, to.port), PATIENCE_S) as probe:
            host, port = probe.getpeername()[:2]
            return Upstream(host, port)
    except OSError as error:
        raise LabError(
            f"can't put a network before {to}: it accepts no connection ({error.strerror or error}); check that it runs"
        ) from error


def through(url: str, port: int) -> str:
    """Return `url` with the port `port` of this machine in place of where the service listens."""
    parts = urlsplit(url)
    user, at, _ = parts.netloc.rpartition("@")
    query = urlencode([(name, value) for name, value in parse_qsl(parts.query) if name not in {*SOCKETS, "port"}])
    return parts._replace(netloc=f"{user}{at}{LOOPBACK}:{port}", query=query).geturl()
