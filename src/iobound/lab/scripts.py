"""Script targets: programs that read one job from standard input, print lines of JSON and end."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec

from iobound.errors import LabError
from iobound.lab.environments import Environment
from iobound.lab.processes import Guarded, Launched, spawn
from iobound.lab.scratch import Scratch
from iobound.lab.targets import INHERITED

PROGRAM, JOB, LINES = "program.py", "job.json", "lines.jsonl"
GLANCE_S = 0.005  # between looks at what was printed

Line = dict[str, Any]


class Script(Launched):
    """A running script. What it printed can still be read once it has ended, however it ended."""

    def __init__(self, name: str, process: Guarded, lines: Path, exits: ExitStack) -> None:
        super().__init__(name, process, exits)
        self._lines = lines

    def lines(self, timeout_s: float) -> Iterator[Line]:
        """Yield each line as it is printed, until the program ends.

        Raises `LabError`, with the end of what it printed on standard error, where it ends with another code than 0, prints
        something that is no JSON object, or hasn't ended `timeout_s` seconds from now.
        """
        deadline = time.monotonic() + timeout_s
        with self._lines.open("rb") as printed:
            rest = b""
            while True:
                ended = not self._process.alive()  # looked at first: what is printed until then is read below
                *whole, rest = (rest + printed.read()).split(b"\n")
                yield from map(self._decoded, whole)
                if ended:
                    break
                if time.monotonic() > deadline:
                    raise LabError(f"{self.name} hasn't ended after {timeout_s:g} s; it printed:\n{self.output()}")
                time.sleep(GLANCE_S)
        if self._process.returncode != 0:
            raise LabError(f"{self.name} ended with {self._process.returncode}; it printed:\n{self.output()}")

    def _decoded(self, line: bytes) -> Line:
        try:
            return msgspec.json.decode(line, type=Line)
        except msgspec.DecodeError as error:
            raise LabError(f"{self.name} printed {line[:200]!r}, which is no line of JSON") from error


def launch(
    name: str,
    files: Mapping[str, Path],
    environment: Environment,
    job: Mapping[str, object],
    *,
    cpus: Sequence[int] | None = None,
    settings: Mapping[str, str] | None = None,
) -> Script:
    """Start the program of `files` on `cpus` and give it its `job`; `name` is what errors call it.

    `files` maps names in the program's folder to files: ``program.py`` is run, the others are what it can import. It runs in
    `environment`, with `settings` in its own. Raises `LabError` where it can't be started.
    """
    with ExitStack() as started:
        folder = started.enter_context(Scratch("script")).path
        for copy, path in files.items():  # before 3.11 Python would import from where a link leads to
            shutil.copyfile(path, folder / copy)
        (folder / JOB).write_bytes(msgspec.json.encode(job))
        (folder / LINES).touch()
        command = f'exec "$0" -B {PROGRAM} <{JOB} >{LINES}'
        variables = {
            **{variable: os.environ[variable] for variable in INHERITED if variable in os.environ},
            **dict.fromkeys(("HOME", "TMPDIR"), str(folder)),
            "PYTHONPATH": os.pathsep.join([str(folder), *map(str, environment.path)]),
            "PYTHONSAFEPATH": "1",
            "PYTHONUNBUFFERED": "1",
            **(settings or {}),
        }
        argv = ["/bin/sh", "-c", command, str(environment.python)]
        process = started.enter_context(spawn(argv, env=variables, cwd=folder, cpus=cpus, remove=[folder]))
        return Script(name, process, folder / LINES, started.pop_all())
