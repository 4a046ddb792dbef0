"""Worker processes that run sessions, as `iobound.race.worker` has it: what the models of several processes share."""

from __future__ import annotations

import base64
import inspect
import json
import os
import pickle
import select
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from iobound.errors import LabError, UsageError
from iobound.race import worker
from iobound.race.models import Call, Ended
from iobound.race.wakeup import Wakeup

START_S = 30.0
ANSWER_S = 1.0


class Worker:
    """A process that runs some of the calls, started at once and used for all executions."""

    def __init__(self, model: str, calls: Sequence[Call], wakeup: Wakeup, ended: dict[int, Ended]) -> None:
        self.ended = ended
        self._wakeup = wakeup
        self._buffer = b""
        self._where: dict[int, str | None] = {}
        self._begun: set[int] = set()
        self._process = subprocess.Popen(
            [sys.executable, "-P", worker.__file__, model], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        assert self._process.stdout
        self._output = self._process.stdout
        self._ready = False
        self._write(order(calls))
        wakeup.watch(self._output, self._read)

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    def start(self, session: int) -> None:
        """Let a call begin."""
        self._await_ready()
        self._begun.discard(session)
        self._write(["start", session])

    def begun(self, session: int) -> bool:
        """Tell whether a call has begun: before, the process sleeps since it hasn't been told yet."""
        return session in self._begun

    def source(self, session: int) -> str | None:
        """Ask where a call is."""
        self._where.pop(session, None)
        self._write(["where", session])
        while session not in self._where and select.select([self._output], [], [], ANSWER_S)[0]:
            self._read()
        return self._where.get(session)

    def close(self) -> None:
        """End the process."""
        self._wakeup.forget(self._output)
        self._process.kill()
        self._process.wait()
        self._output.close()
        assert self._process.stdin
        self._process.stdin.close()

    def _await_ready(self) -> None:
        while not self._ready:
            if not select.select([self._output], [], [], START_S)[0]:
                raise LabError(f"the worker process {self.pid} didn't import the function within {START_S:g} s")
            self._read()

    def _write(self, order: Any) -> None:
        assert self._process.stdin
        try:
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
        except OSError as error:
            raise LabError(f"the worker process {self.pid} has ended; what it printed says why") from error

    def _read(self) -> None:
        data = os.read(self._output.fileno(), 1 << 16)
        if not data:
            self._wakeup.forget(self._output)
            raise LabError(
                f"the worker process {self.pid} ended with {self._process.wait()}: a function ended the process, or can't be "
                "imported from its file; what it printed says why"
            )
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            what, *words = json.loads(line)
            if what == "ready":
                self._ready = True
            elif what == "begun":
                self._begun.add(words[0])
            elif what == "where":
                self._where[words[0]] = words[1]
            else:
                session, returned, raised, chain = words
                self.ended[session] = Ended(returned=returned, raised=raised, chain=chain)


def order(calls: Sequence[Call]) -> dict[str, Any]:
    """Return what a worker is told of the calls; raises `UsageError` for a function that another process can't import."""
    functions, arguments = [], []
    for call in calls:
        function = inspect.unwrap(call.func)
        name = getattr(function, "__qualname__", "")
        code = getattr(function, "__code__", None)
        if code is None or "<" in name:
            raise UsageError(
                f"{name or function!r} can't run in another process: write it as a function of a module, "
                "or explore it with model='threads' or 'asyncio'"
            )
        functions.append((code.co_filename, name))
        arguments.append(call.args)
    try:
        pickled = base64.b64encode(pickle.dumps(arguments)).decode()
    except Exception as error:
        raise UsageError(f"the sessions' arguments can't be sent to another process: {error}") from error
    return {"path": sys.path, "functions": functions, "arguments": pickled}
