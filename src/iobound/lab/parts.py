"""The files of the catalogue, read as text and never imported: what each says of itself in inline script metadata (PEP 723).

Besides ``requires-python`` (``>=3.11``, ``>=3.8,<3.12``) and ``dependencies`` a file has a table ``[tool.iobound]``. What the
parts of a composed target have in it::

    # kind = "framework"               kind = "server"                     kind = "store"
    # title = "Flask"                  title = "gunicorn, gthread worker"  title = "psycopg 3"
    # interface = "wsgi"               accepts = ["wsgi"]                  service = "postgresql"
    # calls = "sync"                   model = "threads"                   calls = "sync"
    # model = "threads"  (optional)    knobs = ["WORKERS", "THREADS"]      refuses = { gevent = "why" }  (optional)
    # twin = "flask-async" (optional)  twin = "granian-asgi" (optional)    twin = "psycopg-async" (optional)

A twin is the same library used in the other way: handlers or stores with the other `calls`, servers with another interface.

A driver is what the script experiments reach a service with, in `targets/drivers/`::

    # kind = "driver"
    # title = "psycopg 3 (C)"
    # service = "postgresql"
    # calls = "sync"
    # models = ["threads", "gevent", "processes"]   those it may be driven by: gevent where it lets others run while it waits,
    #                                               asyncio where it is async; then processes have a loop each
    # offers = "sql"                                statements, or "things": objects, as ORMs and caches have them
    # layer = "driver"                              or "core" or "orm", with
    # beneath = "psycopg"                           the driver that this layer lies on

A published program is one self-contained file in `targets/published/`, which reads ``HOST``, ``PORT``, ``DATABASE_URL``,
``CACHE_URL`` and ``FILE_PATH`` from its environment and listens once it is started::

    # [tool.iobound]
    # kind = "published"
    # title = "Flask and SQLAlchemy on the development server"
    # comparison = "sync-async-sql"        what it is compared within: the same word in all contenders
    # model = "threads"
    # environment = "published"            the lock: targets/locks/published.txt
    # services = ["mariadb", "postgresql"] alternatives, the first is preferred; [] for none
    # drivers = { mariadb = "pymysql" }    optional: the package that it reaches a service with
    # labels = { debug = "True" }          optional: what is known of how it runs and can't be seen from outside
    # [tool.iobound.like]                  optional: what comes nearest to it that is composed of parts, by service ("none" for
    # mariadb = { target = "flask/werkzeug/sqlalchemy-pymysql", settings = { ACCESS_LOG = "1" } }     none)
    #
    # [tool.iobound.workloads.sql-list]    one table a workload that it serves, named as in iobound.workloads
    # method = "GET"                       optional, the default
    # path = "/users"
    # headers = { Accept = "*/*" }         optional
    # body = ''                            optional
    # status = 200                         optional, the default; what a working program would answer
    # answer = '[$rows]'                   optional: the exact body; any complete one where it is absent
    # row = '{"id": $id, "name": "$name"}' what stands for $rows in `answer`: this for each row of the table `item` ($id, $name,
    # between = ', '                       $quantity), with this between; $file in `answer` stands for the text of the file
    # expected_failure = "why"             optional: published broken, this workload is known to fail

A literal ``$`` in `answer` or `row` is written ``$$``.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Annotated, Generic, Literal, TypeVar

import msgspec

from iobound import dataset
from iobound.errors import LabError
from iobound.load.spec import Exchange

Model = Literal["serial", "threads", "gevent", "asyncio", "processes"]
Calls = Literal["sync", "async"]
Knob = Literal[
    "WORKERS",
    "THREADS",
    "POOL_SIZE",
    "KEEP_ALIVE",  # 0: no
    "ACCESS_LOG",  # 1: yes
    "DEBUG",  # 1: yes
    "CONNECT",  # each: a connection for every request
    "SESSION_FACTORY",  # each: one for every request
    "RESET_ON_RELEASE",  # 0: a connection goes back to its pool as it is
    "AUTOCOMMIT",  # 1: every statement commits by itself
]

METADATA = re.compile(r"^# /// script\n((?:#(?: .*)?\n)+?)# ///$", re.MULTILINE)


Kind = TypeVar("Kind", bound="Description")


class Description(msgspec.Struct, frozen=True, tag_field="kind", forbid_unknown_fields=True):
    """A table ``[tool.iobound]``; the subclass is the kind of the file."""

    title: str


class Framework(Description, frozen=True, tag="framework"):
    """An HTTP framework with the workloads in it. `model` is given where it isn't that of the server."""

    interface: str
    calls: Calls
    model: Model | None = None
    knobs: list[Knob] = []
    twin: str | None = None


class Server(Description, frozen=True, tag="server"):
    """What serves frameworks with one of the interfaces that it `accepts`."""

    accepts: list[str]
    model: Model
    loop: str | None = None
    parser: str | None = None
    knobs: list[Knob] = []
    twin: str | None = None


class Store(Description, frozen=True, tag="store"):
    """A driver or ORM on one service. `refuses` says with which models it doesn't work, and why."""

    service: str
    calls: Calls
    refuses: dict[Model, str] = {}
    knobs: list[Knob] = []
    twin: str | None = None


class Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a published program is asked for a workload, and what it answers (see the module's text)."""

    path: str
    method: str = "GET"
    headers: dict[str, str] = {}
    body: str = ""
    status: int = 200
    answer: str | None = None
    row: str = ""
    between: str = ""
    expected_failure: str | None = None

    def exchange(self, rows: int) -> Exchange:
        """Return the exchange over a table of `rows` rows."""
        return Exchange(
            method=self.method,
            path=self.path,
            headers=self.headers,
            body=self.body.encode(),
            status=self.status,
            answer=None if self.answer is None else self._answer(self.answer, rows),
        )

    def _answer(self, template: str, rows: int) -> bytes:
        row = Template(self.row)
        listed = self.between.join(row.substitute(item) for item in dataset.items(rows)) if self.row else ""
        return Template(template).substitute(rows=listed, file=dataset.file_text()).encode()


class Like(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The composed target that comes nearest to a published program, with the settings that make it so."""

    target: str
    settings: dict[Knob, str] = {}


class Published(Description, frozen=True, tag="published"):
    """A program as it was published. `services` are alternatives, the preferred one first."""

    comparison: str
    model: Model
    environment: str
    services: list[str]
    workloads: dict[str, Request]
    drivers: dict[str, str] = {}
    labels: dict[str, str] = {}
    like: dict[str, Like] = {}


class Primitives(Description, frozen=True, tag="primitives"):
    """A family of primitives: its public functions are measured, on each of the event loops `loops`; on none where there are
    none. `service` is what it asks, at ``DATABASE_URL``.
    """

    loops: list[Literal["asyncio", "uvloop"]] = []
    service: str | None = None


class Driver(Description, frozen=True, tag="driver"):
    """A database driver, or a layer on one: `beneath` is then its name."""

    service: str
    calls: Calls
    models: list[Model]
    offers: Literal["sql", "things"]
    layer: Literal["driver", "core", "orm"]
    beneath: str | None = None


class Loader(Description, frozen=True, tag="loader"):
    """A program of `targets/bulk/`: it loads rows under `model` by drivers with such `calls`."""

    calls: Calls
    model: Model


Requirement = Annotated[str, msgspec.Meta(pattern=r"^>=\d+\.\d+(,<\d+\.\d+)?$")]


class _Tool(msgspec.Struct, frozen=True):
    iobound: Framework | Server | Store | Published | Driver | Primitives | Loader


class _Script(msgspec.Struct, frozen=True, rename="kebab"):
    requires_python: Requirement
    dependencies: list[str]
    tool: _Tool


@dataclass(frozen=True)
class Part(Generic[Kind]):
    """One file of the catalogue, called by its name without ``.py``."""

    name: str
    path: Path
    requires_python: str
    dependencies: list[str]
    description: Kind

    def runs_on(self, version: tuple[int, int]) -> bool:
        """Tell whether the file's ``requires-python`` allows this version."""
        least, *below = (tuple(map(int, bound.split("."))) for bound in re.findall(r"\d+\.\d+", self.requires_python))
        return least <= version and all(version < bound for bound in below)


def read(path: Path, kind: type[Kind]) -> Part[Kind]:
    """Read one file of this `kind`; raises `LabError` naming it and the field that is missing or wrong."""
    block = METADATA.search(path.read_text())
    if block is None:
        raise LabError(f"{path}: no inline script metadata; it begins with a block `# /// script` … `# ///`")
    try:
        table = tomllib.loads(re.sub(r"^# ?", "", block[1], flags=re.MULTILINE))
        script = msgspec.convert(table, _Script)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise LabError(f"{path}: its script metadata is wrong: {error}") from error
    description = script.tool.iobound
    if not isinstance(description, kind):
        raise LabError(f"{path}: field `tool.iobound.kind` isn't {kind.__name__.lower()!r}, as its folder says")
    return Part(path.stem, path, script.requires_python, script.dependencies, description)
