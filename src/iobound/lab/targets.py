"""Launches the programs under test, each in a folder of its own and under a guard, and waits until they answer."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec
import psutil

from iobound.errors import BadAnswer, LabError, UsageError
from iobound.lab import environments, outside
from iobound.lab.laboratory import served_file
from iobound.lab.processes import LOOPBACK, Guarded, Launched, free_port, spawn, tree, wait_until
from iobound.lab.scratch import Scratch

if TYPE_CHECKING:
    from iobound.lab.catalogue import Target

INHERITED = ("PATH", "LANG", "LC_ALL", "TZ")  # nothing else of the caller's environment may change how a target runs
LABELS = "/_ran"
PLACE = "{port}"
LOG = "output.log"
ASK_S = 10.0  # patience with a program that is up
LOG_S = 0.3  # servers log why an answer is an error after they have sent it
QUIET_S, QUIET_SHARE = 0.2, 0.2  # workers are up when they used less than this share of a core for this long

Ask = Callable[[str, float], dict[str, str]]
"""Asks a server, within some seconds, what it is; raises `OSError` where it doesn't listen."""


class RunningTarget(Launched):
    """A program that listens at `url`."""

    def __init__(self, name: str, url: str, process: Guarded, ask: Ask, exits: ExitStack) -> None:
        super().__init__(name, process, exits)
        self.url = url
        self._ask = ask

    def wait_until_up(self, timeout_s: float) -> RunningTarget:
        """Wait until the program answers; stops it and raises `LabError` where it doesn't."""
        try:
            wait_until(lambda: self._answers(timeout_s), f"it answered at {self.url}", self._process, timeout_s)
        except BaseException as error:
            self.stop()
            if isinstance(error, LabError):
                raise LabError(f"{self.name} didn't start: {error}") from error
            raise
        return self

    def _answers(self, timeout_s: float) -> bool:
        try:
            self._ask(self.url, timeout_s)
        except (OSError, HTTPException):
            return False
        except BadAnswer as error:
            time.sleep(LOG_S)
            raise LabError(f"{error}; it printed:\n{self.output()}") from error
        return True

    def ran(self) -> dict[str, str]:
        """Ask the running program what it is (framework, server, loop, driver …), as far as it tells; raises `LabError`."""
        try:
            return self._ask(self.url, ASK_S)
        except (OSError, HTTPException, BadAnswer) as error:
            raise LabError(f"{self.name} doesn't say what runs: {error!r}; it printed:\n{self.output()}") from error


def launch(
    target: Target, *, settings: Mapping[str, str], cpus: Sequence[int] | None = None, timeout_s: float = 30.0
) -> RunningTarget:
    """Start `target` on `cpus`, told its `settings` in its environment, and wait until it answers.

    ``PORT`` is a free one and ``FILE_PATH`` the usual file where `settings` don't say otherwise. Raises `LabError`, with the
    exit code and the end of what it printed, where it doesn't come up within `timeout_s` seconds.
    """
    built = environments.environment(target.environment)
    told = {"HOST": LOOPBACK, "PORT": str(free_port()), "FILE_PATH": str(served_file()), **settings}
    url = _url(told["HOST"], int(told["PORT"]))
    with ExitStack() as started:
        folder = started.enter_context(Scratch("target")).path
        for name, path in target.files.items():
            (folder / name).symlink_to(path)
        environment = {
            **{name: os.environ[name] for name in INHERITED if name in os.environ},
            **dict.fromkeys(("HOME", "TMPDIR", "PYTHONPATH"), str(folder)),
            "PYTHONSAFEPATH": "1",
            "PYTHONUNBUFFERED": "1",
            **told,
        }
        argv = [str(built.python), str(folder / target.program)]
        process = started.enter_context(spawn(argv, env=environment, cwd=folder, cpus=cpus, log=folder / LOG, remove=[folder]))
        ask = _labels if target.kind == "composed" else _from_outside(target.labels(built.packages), process.pid)
        running = RunningTarget(target.name, url, process, ask, started.pop_all()).wait_until_up(timeout_s)
    if told.get("WORKERS", "1") != "1":
        _settle(running.pid, timeout_s)
    return running


def launch_command(
    argv: Sequence[str],
    *,
    settings: Mapping[str, str] | None = None,
    cpus: Sequence[int] | None = None,
    timeout_s: float = 30.0,
) -> RunningTarget:
    """Start a user's command in the current folder, with a free port for ``{port}`` in it, and wait until it listens there.

    It has the caller's environment, `settings` added.
    Raises `UsageError` where no argument says ``{port}``, `LabError` where it doesn't come up.
    """
    name = " ".join(argv)
    if PLACE not in name:
        raise UsageError(f"command `{name}`: it isn't told its port; write {PLACE} where the port goes")
    port = free_port()
    placed = [argument.replace(PLACE, str(port)) for argument in argv]
    with ExitStack() as started:
        folder = started.enter_context(Scratch("command")).path
        process = started.enter_context(
            spawn(
                placed, env={**os.environ, **(settings or {}), "PORT": str(port)}, cpus=cpus, log=folder / LOG, remove=[folder]
            )
        )
        return RunningTarget(name, _url(LOOPBACK, port), process, _nothing, started.pop_all()).wait_until_up(timeout_s)


def _settle(pid: int, timeout_s: float) -> None:
    """Wait for the workers that come up after the first one: until the processes of `pid` use hardly any CPU."""
    deadline = time.monotonic() + timeout_s
    used_s = _cpu_s(pid)
    while time.monotonic() < deadline:
        time.sleep(QUIET_S)
        before_s, used_s = used_s, _cpu_s(pid)
        if used_s - before_s < QUIET_SHARE * QUIET_S:
            return


def _cpu_s(pid: int) -> float:
    used_s = 0.0
    for process in tree(pid):
        with suppress(psutil.NoSuchProcess):
            times = psutil.Process(process).cpu_times()
            used_s += times.user + times.system
    return used_s


def _url(host: str, port: int) -> str:
    """Return the URL of a server that is to come; raises `LabError` where something listens there already."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise LabError(f"can't listen on port {port} of {host}: {error.strerror}; name another PORT, or none") from error
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _labels(url: str, timeout_s: float) -> dict[str, str]:
    """Ask a composed target for its labels; raises `BadAnswer` where it answers something else."""
    with _answer(url, LABELS, timeout_s) as response:
        body = response.read()
        try:
            labels = msgspec.json.decode(body, type=dict[str, str])
        except msgspec.DecodeError as error:
            raise BadAnswer(f"GET {LABELS} answered {response.status} {body[:200]!r}") from error
        return labels | {"keep_alive": str(not response.will_close)}


def _signature(url: str, timeout_s: float) -> dict[str, str]:
    """Look at what the answers of a program say that has no labels."""
    with _answer(url, "/", timeout_s) as response:
        server = response.headers.get("Server")
        return {"keep_alive": str(not response.will_close)} | ({"server": server} if server else {})


def _from_outside(labels: dict[str, str], pid: int) -> Ask:
    """Return what looks at a program that has no labels: at its answers and its processes, beside what is known of it."""

    def look(url: str, timeout_s: float) -> dict[str, str]:
        return labels | _signature(url, timeout_s) | {"compiled": ", ".join(outside.compiled(pid)) or "nothing"}

    return look


def _nothing(url: str, timeout_s: float) -> dict[str, str]:
    """Look only whether a server listens: what a user's program does when it is asked is its own affair."""
    address = urlsplit(url)
    socket.create_connection((address.hostname, address.port), timeout_s).close()
    return {}


@contextmanager
def _answer(url: str, path: str, timeout_s: float) -> Iterator[HTTPResponse]:
    address = urlsplit(url)
    with closing(HTTPConnection(str(address.hostname), address.port, timeout=timeout_s)) as connection:
        connection.request("GET", path)
        yield connection.getresponse()
