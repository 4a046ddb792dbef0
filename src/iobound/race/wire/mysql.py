"""The MySQL protocol, version 4.1, as MariaDB and MySQL speak it, without TLS, compression and authentication.

One request is one command. Result sets end by EOF packets: `CLIENT_DEPRECATE_EOF` isn't offered.
"""

from __future__ import annotations

import secrets
import struct
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from iobound.race.wire import ROWS_KEPT, ClientEvent, Goodbye, Request, Rewrite, Startup, Stream

QUIT, INIT_DB, QUERY, FIELD_LIST, STATISTICS, CHANGE_USER = 0x01, 0x02, 0x03, 0x04, 0x09, 0x11
PREPARE, EXECUTE, LONG_DATA, CLOSE, FETCH, RESET_CONNECTION = 0x16, 0x17, 0x18, 0x19, 0x1C, 0x1F
UNANSWERED = {LONG_DATA, CLOSE}

FOUND_ROWS, CONNECT_WITH_DB, LOCAL_FILES, IGNORE_SPACE = 0x02, 0x08, 0x80, 0x100
PLUGIN_AUTH_LENGTHS, PLUGIN_AUTH, SECURE, CONNECT_ATTRIBUTES = 0x200000, 0x80000, 0x8000, 0x100000
OFFERED = (
    0x1  # long passwords
    | FOUND_ROWS
    | 0x4  # long flags of columns
    | CONNECT_WITH_DB
    | IGNORE_SPACE
    | 0x200  # protocol 4.1
    | 0x400  # interactive
    | 0x2000  # transactions
    | SECURE
    | 0x10000  # several statements in one
    | 0x20000  # several results
    | 0x40000  # several results of prepared statements
    | PLUGIN_AUTH
    | CONNECT_ATTRIBUTES
    | PLUGIN_AUTH_LENGTHS
)
CHANGES_ANSWERS = FOUND_ROWS | IGNORE_SPACE | 0x10000
"""The flags that a session on the server must share with its client."""
IN_TRANSACTION, AUTOCOMMIT, MORE_RESULTS = 0x1, 0x2, 0x8
VERSION = "server_version"


@dataclass
class _Expected:
    """A command that was sent on, and how far its answer has come: packets of definitions left, or rows."""

    command: int
    request: Request
    sql: str = ""
    definitions: int = 0
    stage: str = "begin"
    parts: list[int] = field(default_factory=list)


class Conversation:
    """See `iobound.race.wire.Conversation`."""

    pipelines: ClassVar[bool] = False

    def __init__(self, version: str) -> None:
        self.in_transaction = False
        self.failed = False  # a transaction that fails is gone, or goes on
        self._version = version
        self._rewrite: Rewrite = str
        self._from_client = bytearray()
        self._from_server = bytearray()
        self._started = False
        self._commands: dict[int, _Expected] = {}
        self._expected: deque[_Expected] = deque()
        self._statements: dict[int, str] = {}

    def hello(self, backend: int) -> bytes:
        """Return the greeting, which asks for a password that isn't looked at."""
        salt = bytes(1 + byte % 127 for byte in secrets.token_bytes(20))
        body = (
            b"\x0a" + self._version.encode() + b"\0" + struct.pack("<I", backend) + salt[:8] + b"\0"
            + struct.pack("<HBHH", OFFERED & 0xFFFF, 45, AUTOCOMMIT, OFFERED >> 16)
            + b"\x15" + bytes(10) + salt[8:] + b"\0" + b"mysql_native_password\0"
        )  # fmt: skip
        return _packet(0, body)

    def welcome(self, backend: int, facts: dict[str, str]) -> bytes:
        """Return OK."""
        return _packet(self._sequence + 1, b"\0\0\0" + struct.pack("<HH", AUTOCOMMIT, 0))

    def failure(self, message: str) -> bytes:
        """Return an error."""
        return _packet(self._sequence + 1, b"\xff" + struct.pack("<H", 2013) + b"#HY000" + message.encode())

    def query(self, sql: str) -> Request:
        """Return a query of our own."""
        return self._command(_packet(0, bytes([QUERY]) + sql.encode()), bytes([QUERY]) + sql.encode(), ours=True)

    def reset(self) -> Request:
        """Return the command that makes a session like a new one."""
        return self._command(_packet(0, bytes([RESET_CONNECTION])), bytes([RESET_CONNECTION]))

    # --- what the client says -----------------------------------------------------------------------------------------

    def from_client(self, data: bytes, rewrite: Rewrite = str) -> list[ClientEvent]:
        """Return what `data` completes, each statement as `rewrite` has it."""
        self._from_client += data
        self._rewrite = rewrite
        return list(self._events())

    def _events(self) -> Iterator[ClientEvent]:
        for sequence, raw, body in _packets(self._from_client):
            if not self._started:
                self._started = True
                self._sequence = sequence
                yield _startup(body)
            elif sequence != 0 or not body:
                yield Stream(raw)
            elif body[0] == QUIT:
                yield Goodbye()
            elif body[0] == CHANGE_USER:
                yield self.reset()  # the same user, in all that matters here
            elif body[0] in (QUERY, PREPARE):
                rewritten = body[:1] + self._rewrite(body[1:].decode(errors="surrogateescape")).encode(errors="surrogateescape")
                yield self._command(raw if rewritten == body else _packet(0, rewritten), rewritten)
            else:
                yield self._command(raw, body)

    def _command(self, raw: bytes, body: bytes, *, ours: bool = False) -> Request:
        command, sql = body[0], None
        if command == QUERY and not ours:
            sql = body[1:].decode(errors="replace")
        elif command == EXECUTE:
            sql = self._statements.get(int.from_bytes(body[1:5], "little"), "")
        request = Request(raw, sql)
        text = body[1:].decode(errors="replace") if command == PREPARE else ""
        self._commands[id(request)] = _Expected(command, request, text)
        return request

    # --- what the server says -----------------------------------------------------------------------------------------

    def sent(self, request: Request) -> None:
        """Expect the answer to `request`."""
        expected = self._commands.pop(id(request))
        if expected.command in UNANSWERED:
            request.done = True
        else:
            self._expected.append(expected)

    @property
    def waiting(self) -> bool:
        """Whether an answer is still to come."""
        return bool(self._expected)

    def from_server(self, data: bytes) -> list[tuple[bytes, Request | None]]:
        """Split `data` into the answers it belongs to."""
        self._from_server += data
        found: list[tuple[bytes, Request | None]] = []
        for _, raw, body in _packets(self._from_server):
            request = self._expected[0].request if self._expected else None
            if self._expected and self._answered(body, self._expected[0]):
                self._expected.popleft().request.done = True
            if found and found[-1][1] is request:
                found[-1] = (found[-1][0] + raw, request)
            else:
                found.append((raw, request))
        return found

    def _answered(self, body: bytes, about: _Expected) -> bool:
        """Take in a packet of an answer; return whether it is the last one."""
        if body[:1] == b"\xff" and about.stage != "definitions":
            code = struct.unpack_from("<H", body, 1)[0]
            message = body[9:] if body[3:4] == b"#" else body[3:]
            about.request.answer.error = (str(code), message.decode(errors="replace"))
            return True
        match about.command:
            case 0x16:
                return self._prepared(body, about)
            case 0x04 | 0x1C:
                return _is_eof(body)
            case 0x03 | 0x17:
                return self._result(body, about)
        if body[:1] == b"\0":
            self._ok(body)
        return True

    def _prepared(self, body: bytes, about: _Expected) -> bool:
        if about.stage == "begin":
            statement, columns, parameters = struct.unpack_from("<IHH", body, 1)
            self._statements[statement] = about.sql
            about.definitions = sum(count + 1 for count in (columns, parameters) if count)  # each list with its EOF
            about.stage = "definitions"
        else:
            about.definitions -= 1
        return about.definitions == 0

    def _result(self, body: bytes, about: _Expected) -> bool:
        answer = about.request.answer
        match about.stage:
            case "begin" if body[:1] == b"\0":
                answer.affected, _ = _length(body, 1)
                return not self._ok(body) & MORE_RESULTS
            case "begin" if body[:1] == b"\xfb":
                about.request.streams = True
            case "begin":
                about.definitions = (_length(body, 0)[0] or 0) + 1
                about.stage = "definitions"
                if not answer.rows:
                    answer.columns = []
            case "definitions":
                about.definitions -= 1
                if about.definitions:
                    answer.columns.append(_column(body))
                else:
                    about.stage = "rows"
            case _ if _is_eof(body):
                about.stage = "begin"
                return not self._status(struct.unpack_from("<H", body, 3)[0]) & MORE_RESULTS
            case _ if about.command == QUERY and len(answer.rows) < ROWS_KEPT:
                answer.rows.append(_row(body))
        return False

    def _ok(self, body: bytes) -> int:
        _, at = _length(body, 1)
        _, at = _length(body, at)
        return self._status(struct.unpack_from("<H", body, at)[0])

    def _status(self, status: int) -> int:
        self.in_transaction = bool(status & IN_TRANSACTION)
        return status


def _packet(sequence: int, body: bytes) -> bytes:
    return struct.pack("<I", len(body))[:3] + bytes([sequence & 0xFF]) + body


def _packets(buffer: bytearray) -> Iterator[tuple[int, bytes, bytes]]:
    """Take whole packets out of the front of `buffer`: number, as they came, body. One of 16 MB goes on in the next."""
    at = 0
    while True:
        end, body, sequence = at, b"", 0
        while len(buffer) - end >= 4:
            length = int.from_bytes(buffer[end : end + 3], "little")
            if len(buffer) - end - 4 < length:
                del buffer[:at]
                return
            sequence = sequence if end > at else buffer[end + 3]
            body += buffer[end + 4 : end + 4 + length]
            end += 4 + length
            if length < 0xFFFFFF:
                break
        else:
            del buffer[:at]
            return
        yield sequence, bytes(buffer[at:end]), body
        at = end


def _length(body: bytes, at: int) -> tuple[int | None, int]:
    """Read a length-encoded number; ``None`` stands for NULL."""
    first = body[at]
    if first < 0xFB:
        return first, at + 1
    if first == 0xFB:
        return None, at + 1
    size = {0xFC: 2, 0xFD: 3, 0xFE: 8}[first]
    return int.from_bytes(body[at + 1 : at + 1 + size], "little"), at + 1 + size


def _is_eof(body: bytes) -> bool:
    return body[:1] == b"\xfe" and len(body) < 9


def _texts(body: bytes) -> Iterator[str | None]:
    at = 0
    while at < len(body):
        length, at = _length(body, at)
        if length is None:
            yield None
        else:
            yield body[at : at + length].decode(errors="replace")
            at += length


def _row(body: bytes) -> list[str | None]:
    return list(_texts(body))


def _column(body: bytes) -> str:
    at = 0
    for _ in range(4):  # catalogue, schema, table, table as it was named
        length, at = _length(body, at)
        at += length or 0
    length, at = _length(body, at)
    return body[at : at + (length or 0)].decode(errors="replace")


def _startup(body: bytes) -> Startup:
    """Read a HandshakeResponse41."""
    flags, _, charset = struct.unpack_from("<IIB", body)
    at = 32
    end = body.index(b"\0", at)
    user, at = body[at:end].decode(), end + 1
    if flags & PLUGIN_AUTH_LENGTHS:
        length, at = _length(body, at)
        at += length or 0
    elif flags & SECURE:
        at += 1 + body[at]
    else:
        at = body.index(b"\0", at) + 1
    database = ""
    if flags & CONNECT_WITH_DB and at < len(body):
        end = body.find(b"\0", at)
        database = body[at : end if end >= 0 else len(body)].decode()
    return Startup(user, database, (("charset", str(charset)), ("flags", str(flags & CHANGES_ANSWERS))))
