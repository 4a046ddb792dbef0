"""Records of the US Census 2000, Summary File 1, from a folder of its files; or made from a seed, in the same shape.

A data file has a line for each geographical record: five columns that identify it, the fourth of which is the segment, then a
value for each dictionary item of the segment. Items are numbered from 1 in the order of the dictionary.
"""

from __future__ import annotations

import hashlib
import os
import random
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from iobound.errors import LabError, UsageError
from iobound.lab import cache as cached

GEO_COLUMNS = 5
SEGMENT = 3  # the column that names it
DATA = ("*.uf1.zip", "*.uf1")
SHOWN_BAD_LINES = 10

VALUE = rb"-?\d{1,18}(?:\.\d{1,6})?"
MADE_SEGMENT = "01"
MADE_MATRICES = 286  # the numbers of the real dictionary: of its 8,113 items 222 are in the first segment
FIRST_SEGMENT = (1, 6, 71, 73, 71)
OTHER_ITEMS = 28
SEGMENTS = 39


@dataclass(frozen=True)
class Matrix:
    """A table of the census: `items` are the names of its lines."""

    code: str
    name: str
    universe: str
    segment: str
    items: tuple[str, ...]


@dataclass(frozen=True)
class Census:
    """A data file and the dictionary that says what is in it."""

    path: Path
    matrices: tuple[Matrix, ...]

    def items(self) -> dict[str, list[int]]:
        """Return the numbers of the items of each segment."""
        numbers: dict[str, list[int]] = {}
        first = 1
        for matrix in self.matrices:
            numbers.setdefault(matrix.segment, []).extend(range(first, first + len(matrix.items)))
            first += len(matrix.items)
        return numbers


@dataclass(frozen=True)
class Contents:
    """What is in the tables, or is to be: counts of rows, and the sums of a digest of each row (see `digest`)."""

    geo_rows: int
    geo_digest: int
    rows: int
    digest: int


@dataclass(frozen=True)
class Load:
    """Lines of a data file that are to be loaded: the first `lines` that aren't bad, and what is in the tables thereafter.

    `bad` says of each bad line among them what is wrong, `skip` are their numbers. `columns` is how many values a line has.
    """

    census: Census
    lines: int
    columns: int
    expected: Contents
    skip: tuple[int, ...] = ()
    bad: tuple[str, ...] = ()


def digest(text: str) -> int:
    """Return the number that the first 15 digits of the MD5 of a row's text are: SQL can work it out too.

    The text is a row's values joined by commas: of a geographical record its five columns, of a value those, the number of its
    item, and the value with six decimals.
    """
    return int(hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:15], 16)


# --- the real one ---------------------------------------------------------------------------------------------------


class _Named(msgspec.Struct):
    code: str
    name: str
    universe: str
    elements: list[dict[str, Any]]


class _Segment(msgspec.Struct):
    segment: str
    starting_matrix: str
    ending_matrix: str


@cache
def read(folder: Path) -> Census:
    """Find the data file in `folder` and read its dictionary; raises `UsageError` naming the file that is missing or wrong."""
    files = [path for pattern in DATA for path in sorted(folder.glob(pattern))]
    if not files:
        raise UsageError(f"--data: {folder} has no data file; the folder holds one called {' or '.join(DATA)}")
    named = _decoded(folder / "dictionary.json", list[_Named])
    codes = [matrix.code for matrix in named]
    segments: dict[str, str] = {}
    for each in _decoded(folder / "segments.json", list[_Segment]):
        try:
            first, last = codes.index(each.starting_matrix), codes.index(each.ending_matrix)
        except ValueError as error:
            raise UsageError(
                f"--data: {folder / 'segments.json'}: segment {each.segment} goes from {each.starting_matrix} to "
                f"{each.ending_matrix}, and dictionary.json hasn't got both"
            ) from error
        segments.update(dict.fromkeys(codes[first : last + 1], each.segment))
    return Census(
        files[0],
        tuple(
            Matrix(each.code, each.name, each.universe, segments[each.code], tuple(_item_names(each.elements)))
            for each in named
            if each.code in segments
        ),
    )


def _decoded(path: Path, kind: Any) -> Any:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.DecodeError) as error:
        raise UsageError(f"--data: {path} can't be read: {error}") from error


def _item_names(elements: list[dict[str, Any]]) -> Iterator[str]:
    for element in elements:
        yield element["name"]
        yield from _item_names(element.get("elements", []))


# --- a made one -----------------------------------------------------------------------------------------------------


@cache
def made(seed: int, lines: int) -> Census:
    """Make a census of `lines` lines; its data file is kept in the cache. The same seed gives the same."""
    path = cached.folder() / f"census-{seed}-{lines}.uf1"
    if not path.exists():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            fresh = path.with_suffix(f".{os.getpid()}")
            with fresh.open("w") as file:
                file.writelines(_made_lines(seed, lines))
            fresh.rename(path)
        except OSError as error:
            raise LabError(f"can't write {path} ({error.strerror}); set XDG_CACHE_HOME to a folder that is yours") from error
    return Census(path, tuple(_made_matrices()))


def _made_matrices() -> Iterator[Matrix]:
    others = MADE_MATRICES - len(FIRST_SEGMENT)
    for number in range(MADE_MATRICES):
        other = number - len(FIRST_SEGMENT)
        segment = MADE_SEGMENT if other < 0 else f"{2 + other * (SEGMENTS - 1) // others:02}"
        items = FIRST_SEGMENT[number] if other < 0 else OTHER_ITEMS
        names = tuple(f"Line {item + 1}" for item in range(items))
        yield Matrix(f"M{number + 1}", f"TABLE {number + 1}", "Everything", segment, names)


def _made_lines(seed: int, lines: int) -> Iterator[str]:
    draw = random.Random(seed)
    for number in range(1, lines + 1):
        size = 10 ** draw.uniform(0, 6)  # of the place: a state has millions of inhabitants, most blocks have few
        values = (int(size * draw.random() ** 4) for _ in range(sum(FIRST_SEGMENT)))
        yield f"uSF1,IO,000,{MADE_SEGMENT},{number:07},{','.join(map(str, values))}\n"


# --- what is to be loaded -------------------------------------------------------------------------------------------


@cache
def load(census: Census, lines: int | None, *, report_bad: bool) -> Load:
    """Look through the first `lines` lines (``None``: all) and say what loading them comes to.

    Bad lines are left out where `report_bad`. Raises `UsageError` naming the file and the line: for a bad line otherwise, for
    fewer lines than are asked, and for a file that is cut off.
    """
    reading = _Reading(census)
    bad: dict[int, str] = {}
    with _opened(census.path) as file:
        for number, line in enumerate(file, 1):
            if lines is not None and reading.lines == lines:
                break
            wrong = reading.add(number, line)
            if wrong and not report_bad:
                raise UsageError(
                    f"{census.path}, line {number}: {wrong}; nothing was loaded: mend the file, or leave bad lines out with "
                    "--bad-lines report"
                )
            if wrong:
                bad[number] = f"line {number}: {wrong}"
    if reading.lines < (lines or 1):
        good = f"good lines, and {len(bad)} bad" if bad else "lines"
        raise UsageError(f"--lines: {census.path} has {reading.lines:,} {good}, not {lines or 1:,}; ask for fewer")
    return Load(census, reading.lines, reading.columns, reading.contents(), tuple(bad), tuple(bad.values())[:SHOWN_BAD_LINES])


@contextmanager
def _opened(path: Path) -> Iterator[Iterable[bytes]]:
    """Open a data file, by itself or packed."""
    try:
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive, archive.open(archive.namelist()[0]) as packed:
                yield packed
        else:
            with path.open("rb") as plain:
                yield plain
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise UsageError(f"{path} can't be read: {error}; the file may be cut off: get it again") from error


class _Reading:
    """Adds up what lines come to."""

    def __init__(self, census: Census) -> None:
        self._items = census.items()
        self._shapes = {segment: _shape(len(items)) for segment, items in self._items.items()}
        self._seen: dict[int, int] = {}
        self.lines = self.rows = self.columns = 0
        self._geo = self._values = 0

    def add(self, number: int, line: bytes) -> str | None:
        """Add a line, or say what is wrong with it."""
        fields = line.rstrip(b"\r\n").split(b",")
        segment = fields[SEGMENT].decode("ascii", "replace") if len(fields) > SEGMENT else ""
        if segment not in self._items:
            return f"its column {SEGMENT + 1} is {segment!r}, no segment of the dictionary"
        items = self._items[segment]
        if not self._shapes[segment].fullmatch(line):
            return _wrong(fields, len(items), line)
        geo = b",".join(fields[:GEO_COLUMNS]).decode()
        mark = digest(geo)
        if self._seen.setdefault(mark, number) != number:
            return f"its first {GEO_COLUMNS} columns are those of line {self._seen[mark]}"
        self.lines += 1
        self._geo += mark
        self.rows += len(items)
        self.columns = len(items)
        for item, value in zip(items, fields[GEO_COLUMNS:], strict=True):
            self._values += digest(f"{geo},{item},{_six_decimals(value.decode())}")
        return None

    def contents(self) -> Contents:
        """Return what all lines so far come to."""
        return Contents(self.lines, self._geo, self.rows, self._values)


def _shape(values: int) -> re.Pattern[bytes]:
    """Return what a line with so many values looks like."""
    return re.compile(rb"[ -+\--~]{1,20}(?:,[ -+\--~]{0,20}){%d}(?:,%s){%d}\r?\n" % (GEO_COLUMNS - 1, VALUE, values))


def _wrong(fields: Sequence[bytes], items: int, line: bytes) -> str:
    """Say what is wrong with a line whose segment has so many items."""
    values = fields[GEO_COLUMNS:]
    cut = "" if line.endswith(b"\n") else "; the file is cut off here"
    if len(values) != items:
        return f"it has {len(values)} values, its segment has {items} items{cut}"
    for column, value in enumerate(values, GEO_COLUMNS + 1):
        if not re.fullmatch(VALUE, value):
            return f"column {column} is {value[:40].decode('ascii', 'replace')!r}, no number of up to 18 digits and 6 decimals"
    return "the file is cut off here: the line has no end" if cut else "its first columns aren't plain text of up to 20 letters"


def _six_decimals(value: str) -> str:
    return f"{Decimal(value) + 0:.6f}" if "." in value else f"{int(value)}.000000"
