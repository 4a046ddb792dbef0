"""Run folders: ``run.json`` (plan, environment, versions) and ``trials.jsonl`` (raw observations), written as measured."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from iobound.errors import LabError, UsageError
from iobound.records import SCHEMA, Observation, RunHeader

HEADER = "run.json"
TRIALS = "trials.jsonl"

DEFAULT_ROOT = Path("iobound-runs")


class RunWriter:
    """Writes a run folder. Every observation is on disk when `add` returns, so that an interrupted run keeps them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with _writing(folder):
            self._trials = (folder / TRIALS).open("ab", buffering=0)
            _drop_incomplete_line(folder / TRIALS)

    @classmethod
    def create(cls, folder: Path, header: RunHeader) -> RunWriter:
        """Start a run in `folder`; raises `UsageError` where a run is already there, `LabError` where it can't be written."""
        check_new(folder)
        with _writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / HEADER).write_bytes(msgspec.json.format(msgspec.json.encode(header), indent=1))
        return cls(folder)

    def add(self, observation: Observation) -> None:
        """Append one observation, whole or not at all; raises `LabError` where the disk is full."""
        line = msgspec.json.encode(observation) + b"\n"
        with _writing(self.folder):
            before = os.fstat(self._trials.fileno()).st_size
            try:
                while line:  # a disk that is nearly full takes a part without complaint
                    line = line[self._trials.write(line) :]
            except OSError:
                self._trials.truncate(before)
                raise

    def close(self) -> None:
        """Close the file of trials."""
        self._trials.close()

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise LabError(
            f"can't write the run folder {folder}: {error.strerror}; make room, or give another folder with --out"
        ) from error


def _drop_incomplete_line(trials: Path) -> None:
    content = trials.read_bytes()
    if content and not content.endswith(b"\n"):
        with trials.open("rb+") as file:
            file.truncate(content.rfind(b"\n") + 1)


def write(folder: Path, name: str, text: str) -> Path:
    """Write a file beside the observations of a run and return its path; raises `LabError` where it can't be written."""
    with _writing(folder):
        (folder / name).write_text(text)
    return folder / name


class Run:
    """A run folder that was read. `cut_off` says that the last line of the trials was incomplete and left out."""

    def __init__(self, folder: Path, header: RunHeader, observations: list[Observation], cut_off: bool) -> None:
        self.folder = folder
        self.header = header
        self.observations = observations
        self.cut_off = cut_off


def check_new(folder: Path) -> None:
    """Raise `UsageError` where `folder` holds a run already, `LabError` where none can be written there.

    `RunWriter.create` finds that out too, but only after the laboratory was set up.
    """
    if (folder / HEADER).exists():
        raise UsageError(f"{folder} already holds a run; give another --out, or continue it with --resume {folder}")
    existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise UsageError(f"{folder} can't be a run folder: {existing} is a file; give another --out")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise LabError(f"can't write the run folder {folder}: {existing} isn't yours to write in; give another with --out")


def default_folder() -> Path:
    """Return the folder of a run that starts now: ``./iobound-runs/TIME``."""
    return DEFAULT_ROOT / time.strftime("%Y-%m-%d-%H%M%S")


def read(folder: Path) -> Run:
    """Read a run; raises `UsageError` for a folder that holds none, a broken one, or one of another schema version."""
    try:
        head = (folder / HEADER).read_bytes()
    except OSError as error:
        raise UsageError(f"{folder} holds no run: {HEADER} can't be read ({error.strerror})") from error
    try:
        schema = msgspec.json.decode(head, type=dict[str, msgspec.Raw]).get("schema", msgspec.Raw(b"null"))
        if bytes(schema) != str(SCHEMA).encode():
            raise UsageError(
                f"{folder} was written with schema {bytes(schema).decode()}, this iobound reads schema {SCHEMA}; "
                "read it with the version that wrote it (field `iobound` in run.json)"
            )
        header = msgspec.json.decode(head, type=RunHeader)
    except msgspec.DecodeError as error:
        raise UsageError(f"{folder / HEADER} is damaged: {error}") from error
    observations: list[Observation] = []
    lines = (folder / TRIALS).read_bytes().split(b"\n") if (folder / TRIALS).exists() else []
    decoder = msgspec.json.Decoder(Observation)
    cut_off = bool(lines) and lines[-1] != b""
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            observations.append(decoder.decode(line))
        except msgspec.DecodeError as error:
            if number == len(lines):
                break
            raise UsageError(f"{folder / TRIALS}, line {number}, is damaged: {error}") from error
    return Run(folder, header, observations, cut_off)


def find_all(root: Path = DEFAULT_ROOT) -> Iterator[Path]:
    """Yield the run folders under `root`, oldest first."""
    yield from sorted(path.parent for path in root.glob(f"*/{HEADER}"))


def latest(root: Path = DEFAULT_ROOT) -> Path:
    """Return the newest run folder under `root`; raises `UsageError` where there is none."""
    folders = list(find_all(root))
    if not folders:
        raise UsageError(f"no run under {root}; start one with: iobound run --quick")
    return folders[-1]
