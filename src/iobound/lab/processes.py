"""Programs that iobound starts: each under a guard process that ends it, with all its descendants, when iobound ends."""

from __future__ import annotations

import json
import os
import random
import select
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Self

import psutil

from iobound.errors import LabError
from iobound.lab import guard
from iobound.lab.unprivileged import User

TAIL_BYTES = 8192
LOOPBACK = "127.0.0.1"
OUTGOING_PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")
FIRST_PORT = 20_000


class Guarded:
    """A program under its guard. A context manager; left to the garbage collector it is stopped too.

    `pid` is the program itself, `root` its guard, whose tree also holds the descendants that lost their parent.
    """

    def __init__(self, guard: subprocess.Popen[bytes], pid: int, log: int, patience_s: float) -> None:
        self.pid = pid
        self.root = guard.pid
        self._guard = guard
        self._log = log
        self._patience_s = patience_s
        self._returncode: int | None = None

    @property
    def returncode(self) -> int | None:
        """The exit code, minus the signal's number for a program ended by one; ``None`` while it runs or where nobody knows."""
        assert self._guard.stdout
        if self._returncode is None and select.select([self._guard.stdout], [], [], 0)[0]:
            line = self._guard.stdout.readline()
            if line:
                self._returncode = json.loads(line)["returncode"]
        return self._returncode

    def alive(self) -> bool:
        """Tell whether the program still runs."""
        return self.returncode is None and self._guard.poll() is None

    def output(self) -> str:
        """Return the last 8 KB of what the program printed, also after its log was removed."""
        size = os.fstat(self._log).st_size
        return os.pread(self._log, TAIL_BYTES, max(0, size - TAIL_BYTES)).decode(errors="replace")

    def stop(self) -> None:
        """Stop the program and wait until it, its descendants and the paths to remove are gone. Safe to call twice."""
        assert self._guard.stdin
        self._guard.stdin.close()
        try:
            self._guard.wait(self._patience_s)
        except subprocess.TimeoutExpired as error:
            raise LabError(
                f"process {self.pid} can't be stopped; its guard, process {self._guard.pid}, is waiting for it"
            ) from error

    def __enter__(self) -> Guarded:
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def __del__(self) -> None:
        os.close(self._log)


class Launched:
    """A program with what it was given, such as its folder; a context manager that stops and removes all of it.

    `name` is what errors call it, `pid` the program itself; all its processes are in the tree of `root`.
    """

    def __init__(self, name: str, process: Guarded, exits: ExitStack) -> None:
        self.name = name
        self.pid = process.pid
        self.root = process.root
        self._process = process
        self._exits = exits

    def output(self) -> str:
        """Return the last 8 KB of what the program printed into its log."""
        return self._process.output()

    def alive(self) -> bool:
        """Tell whether the program still runs."""
        return self._process.alive()

    def stop(self) -> None:
        """Stop the program and remove what it was given. Safe to call twice."""
        self._exits.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()


def spawn(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    log: Path | None = None,
    cwd: Path | None = None,
    cpus: Sequence[int] | None = None,
    user: User | None = None,
    stop_signal: signal.Signals = signal.SIGTERM,
    grace_s: float = 5.0,
    remove: Sequence[Path] = (),
) -> Guarded:
    """Start a program that is gone, with all its descendants and the folders `remove`, once iobound ends in any way.

    It runs with exactly `env`, pinned to `cpus`, as `user`; what it prints is appended to `log`, or kept in memory, where no
    full disk can lose it. It is stopped by `stop_signal` and, `grace_s` seconds later, by SIGKILL. When it ends by itself,
    descendants and folders go as well. Raises `LabError` where it can't be started.
    """
    order = {
        "argv": list(argv),
        "env": dict(env),
        "cwd": str((cwd or Path.cwd()).absolute()),
        "cpus": list(cpus or ()),
        "identity": {"user": user.uid, "group": user.gid, "extra_groups": []} if user else {},
        "stop_signal": int(stop_signal),
        "grace_s": grace_s,
        "remove": [str(path.absolute()) for path in remove],
    }
    try:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        written = os.open(log, flags, 0o600) if log else os.memfd_create("log")
    except OSError as error:
        raise LabError(f"can't write the log {log}: {error.strerror}") from error
    guarding = subprocess.Popen(
        [sys.executable, "-I", "-S", guard.__file__],
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=written,
        start_new_session=True,
    )
    assert guarding.stdin
    assert guarding.stdout
    guarding.stdin.write(json.dumps(order).encode() + b"\n")
    answer = json.loads(guarding.stdout.readline() or '{"error": "its guard process died"}')
    if "error" in answer:
        os.close(written)
        guarding.stdin.close()
        guarding.wait()
        raise LabError(f"can't start {argv[0]}: {answer['error']}")
    return Guarded(guarding, answer["pid"], written, patience_s=grace_s + 10)


def in_turn(preparation: Sequence[str], program: Sequence[str]) -> list[str]:
    """Return a command that runs `preparation`, keeps quiet what it prints, and where it went well becomes `program`.

    One guard then guards both, so that a killed iobound leaves nothing behind at any moment.
    """
    return ["/bin/sh", "-c", f"{shlex.join(preparation)} >/dev/null && exec {shlex.join(program)}"]


def tree(pid: int) -> list[int]:
    """Return `pid` and its live descendants; empty where it is gone."""
    try:
        root = psutil.Process(pid)
        family = [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []
    return [process.pid for process in family if _lives(process)]


def _lives(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def free_port(host: str = LOOPBACK) -> int:
    """Return a TCP port that is free on `host` now.

    Where there is room it lies below the ports of outgoing connections, so that none of those takes it before it is used.
    """
    first_outgoing = int(OUTGOING_PORTS.read_text().split()[0])
    below = range(min(FIRST_PORT, first_outgoing), first_outgoing)
    for port in [*random.sample(below, min(len(below), 100)), 0]:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe, suppress(OSError):
            probe.bind((host, port))
            chosen: int = probe.getsockname()[1]
            return chosen
    raise LabError(f"no free TCP port on {host}")


def wait_for_port(host: str, port: int, process: Guarded, timeout_s: float) -> None:
    """Wait until `process` accepts connections; raises `LabError` with the end of its log where it dies or takes too long."""
    wait_until(lambda: _accepts(host, port), f"it listened on {host}:{port}", process, timeout_s)


def wait_until(ready: Callable[[], bool], what: str, process: Guarded, timeout_s: float) -> None:
    """Wait until `ready()` while `process` lives; raises `LabError` with `what` was waited for and the end of its log."""
    deadline = time.monotonic() + timeout_s
    while True:
        done = ready()
        if not process.alive():
            raise LabError(f"it ended with {process.returncode} before {what}; it printed:\n{process.output()}")
        if done:
            return
        if time.monotonic() > deadline:
            raise LabError(f"{timeout_s:g} s passed before {what}; it printed:\n{process.output()}")
        time.sleep(0.01)


def _accepts(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=1).close()
    except OSError:
        return False
    return True
