"""The PostgreSQL protocol, version 3.0, without TLS and authentication.

One request is a simple Query, or an Execute with all that was sent before it and the Sync after it. Where several Executes are
sent before a Sync (a pipeline), each is a request of its own, ended by a Flush: the server then answers each by itself,
and still commits at the Sync.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from iobound.race.wire import ROWS_KEPT, Cancel, ClientEvent, Goodbye, Refused, Request, Rewrite, Startup, Stream

SSL_REQUEST, GSS_REQUEST, CANCEL_REQUEST = 80877103, 80877104, 80877102
FLUSH = b"H\0\0\0\4"
TERMINAL = {b"P": b"1", b"B": b"2", b"D": b"Tn", b"C": b"3", b"E": b"CIs", b"S": b"Z", b"Q": b"Z", b"F": b"Z"}
"""The messages of the server by which the answer to each message of a client ends."""
UNASKED = b"NSA"

SIGNED = {21: ">h", 23: ">i", 20: ">q", 26: ">I", 700: ">f", 701: ">d"}
BOOLEAN = 16


@dataclass(frozen=True)
class _Column:
    name: str
    type: int
    binary: bool


@dataclass
class _Statement:
    """A prepared statement: its text, and what the server said about its parameters and columns."""

    sql: str
    parameters: list[int] = field(default_factory=list)
    columns: list[_Column] = field(default_factory=list)


@dataclass
class _Portal:
    statement: _Statement
    parameters: list[str | None]
    columns_binary: list[bool]


@dataclass
class _Expected:
    """A message that was sent on: its type, its request, and what the answer is about."""

    type: bytes
    request: Request
    statement: _Statement | None = None
    portal: _Portal | None = None


class Conversation:
    """See `iobound.race.wire.Conversation`."""

    pipelines: ClassVar[bool] = True

    def __init__(self) -> None:
        self.in_transaction = False
        self.failed = False
        self._started = False
        self._minor = 0
        self._rewrite: Rewrite = str
        self._from_client = bytearray()
        self._from_server = bytearray()
        self._statements: dict[str, _Statement] = {}
        self._portals: dict[str, _Portal] = {}
        self._collected: list[tuple[bytes, bytes]] = []
        self._executes: _Portal | None = None
        self._asked: dict[int, list[_Expected]] = {}
        self._expected: deque[_Expected] = deque()
        self._skipping = False
        self._shape: list[_Column] = []  # of the rows that come, as the last RowDescription says

    def hello(self, backend: int) -> bytes:
        """Return nothing: the client speaks first."""
        return b""

    def welcome(self, backend: int, facts: dict[str, str]) -> bytes:
        """Return AuthenticationOk, the server's parameters, a key without a secret and ReadyForQuery."""
        negotiated = [_message(b"v", struct.pack(">ii", 0, 0))] if self._minor else []
        parameters = [_message(b"S", _text(name) + _text(value)) for name, value in facts.items()]
        key = _message(b"K", struct.pack(">iI", backend, 0))
        return b"".join([*negotiated, _message(b"R", struct.pack(">i", 0)), *parameters, key, _message(b"Z", b"I")])

    def failure(self, message: str) -> bytes:
        """Return a fatal error."""
        return _message(b"E", b"SFATAL\0VFATAL\0C08006\0M" + _text(message) + b"\0")

    def query(self, sql: str) -> Request:
        """Return a simple Query."""
        return self._request([(b"Q", _text(sql))])

    # --- what the client says -----------------------------------------------------------------------------------------

    def from_client(self, data: bytes, rewrite: Rewrite = str) -> list[ClientEvent]:
        """Return what `data` completes, each statement as `rewrite` has it."""
        self._from_client += data
        self._rewrite = rewrite
        return list(self._events())

    def _events(self) -> Iterator[ClientEvent]:
        while not self._started:
            if len(self._from_client) < 8:
                return
            length, code = struct.unpack_from(">ii", self._from_client)
            if len(self._from_client) < length:
                return
            body = bytes(self._from_client[8:length])
            del self._from_client[:length]
            yield self._opening(code, body)
        for type_, body in _messages(self._from_client):
            yield from self._heard(type_, self._rewritten(type_, body))

    def _opening(self, code: int, body: bytes) -> ClientEvent:
        if code in (SSL_REQUEST, GSS_REQUEST):
            return Refused(b"N")
        if code == CANCEL_REQUEST:
            return Cancel(struct.unpack_from(">i", body)[0])
        self._started = True
        self._minor = code & 0xFFFF
        words = [word.decode() for word in body.split(b"\0")]
        parameters = dict(zip(words[::2], words[1::2], strict=False))
        parameters.pop("", None)
        user = parameters.pop("user", "")
        database = parameters.pop("database", user)
        return Startup(user, database, tuple(sorted(parameters.items())))

    def _rewritten(self, type_: bytes, body: bytes) -> bytes:
        if type_ == b"Q":
            return _text(self._rewrite(_string(body, 0)[0]))
        if type_ == b"P":
            name, at = _string(body, 0)
            sql, end = _string(body, at)
            return _text(name) + _text(self._rewrite(sql)) + body[end:]
        return body

    def _heard(self, type_: bytes, body: bytes) -> Iterator[ClientEvent]:
        if self._executes and type_ not in b"SH":
            yield self._executed([(b"H", b"")])
        match type_:
            case b"Q":
                yield self._request([*self._take(), (type_, body)], sql=_string(body, 0)[0])
            case b"S" | b"H":
                ending: list[tuple[bytes, bytes]] = [(type_, body)]
                yield self._executed(ending) if self._executes else self._request([*self._take(), *ending])
            case b"d" | b"c" | b"f":
                yield Stream(_message(type_, body))
            case b"X":
                yield Goodbye()
            case b"F":
                yield self._request([*self._take(), (type_, body)])
            case _:
                self._note(type_, body)
                self._collected.append((type_, body))

    def _note(self, type_: bytes, body: bytes) -> None:
        """Remember what Parse and Bind name, and what an Execute is of."""
        if type_ == b"P":
            name, at = _string(body, 0)
            self._statements[name] = _Statement(_string(body, at)[0])
        elif type_ == b"B":
            portal, at = _string(body, 0)
            name, at = _string(body, at)
            statement = self._statements.get(name) or _Statement("")
            self._portals[portal] = _bind(statement, body, at)
        elif type_ == b"E":
            self._executes = self._portals.get(_string(body, 0)[0]) or _Portal(_Statement(""), [], [])

    def _take(self) -> list[tuple[bytes, bytes]]:
        taken, self._collected = self._collected, []
        return taken

    def _executed(self, ending: list[tuple[bytes, bytes]]) -> Request:
        portal, self._executes = self._executes, None
        assert portal
        return self._request([*self._take(), *ending], sql=portal.statement.sql, parameters=portal.parameters, portal=portal)

    def _request(
        self,
        messages: list[tuple[bytes, bytes]],
        sql: str | None = None,
        parameters: list[str | None] | None = None,
        portal: _Portal | None = None,
    ) -> Request:
        request = Request(b"".join(_message(*message) for message in messages), sql, parameters or [])
        expected = []
        for type_, body in messages:
            if type_ == b"H":
                continue
            about = _Expected(type_, request)
            if type_ == b"D":
                name = _string(body, 1)[0]
                about.statement = self._statements.get(name) if body[:1] == b"S" else None
                about.portal = self._portals.get(name) if body[:1] == b"P" else None
            elif type_ == b"E":
                about.portal = portal
            expected.append(about)
        self._asked[id(request)] = expected
        return request

    # --- what the server says -----------------------------------------------------------------------------------------

    def sent(self, request: Request) -> None:
        """Expect the answer to `request`; after an error the server skips all up to the next Sync."""
        expected = self._asked.pop(id(request))
        if self._skipping:
            expected = [each for each in expected if each.type in b"SQF"]
        self._expected.extend(expected)
        request.done = not expected

    @property
    def waiting(self) -> bool:
        """Whether an answer is still to come."""
        return bool(self._expected)

    def from_server(self, data: bytes) -> list[tuple[bytes, Request | None]]:
        """Split `data` into the answers it belongs to."""
        self._from_server += data
        found: list[tuple[bytes, Request | None]] = []
        for type_, body in _messages(self._from_server):
            unasked = type_ in UNASKED and not self._expected
            request = None if unasked or not self._expected else self._expected[0].request
            if request:
                self._answered(type_, body, self._expected[0])
            if found and found[-1][1] is request and request is not None:
                found[-1] = (found[-1][0] + _message(type_, body), request)
            else:
                found.append((_message(type_, body), request))
        return found

    def _answered(self, type_: bytes, body: bytes, about: _Expected) -> None:
        request = about.request
        match type_:
            case b"T":
                columns = _columns(body)
                if about.statement:
                    about.statement.columns = columns
                else:
                    request.answer.columns = [column.name for column in columns]
                    self._shape = columns
            case b"t" if about.statement:
                count = struct.unpack_from(">h", body)[0]
                about.statement.parameters = list(struct.unpack_from(f">{count}i", body, 2))
            case b"D" if len(request.answer.rows) < ROWS_KEPT:
                self._row(body, about)
            case b"C":
                words = body.rstrip(b"\0").split()
                if words and words[-1].isdigit() and words[0] not in (b"SELECT", b"FETCH"):
                    request.answer.affected = int(words[-1])
            case b"E":
                fields = {part[:1]: part[1:].decode(errors="replace") for part in body.split(b"\0") if part}
                request.answer.error = (fields.get(b"C", ""), fields.get(b"M", ""))
                self._skip(about)
            case b"G" | b"W":
                request.streams = True
            case b"Z":
                self.in_transaction = body != b"I"
                self.failed = body == b"E"
                self._skipping = False
        if self._expected and type_ in TERMINAL[self._expected[0].type] and type_ != b"E":
            done = self._expected.popleft().request
            done.done = not self._expected or self._expected[0].request is not done

    def _row(self, body: bytes, about: _Expected) -> None:
        columns = self._shape_of(about)
        if not about.request.answer.columns:
            about.request.answer.columns = [column.name for column in columns]
        values = _values(body, 0)
        types = [(column.type, column.binary) for column in columns] or [(0, False)] * len(values)
        about.request.answer.rows.append(
            [_shown(value, type_, binary) for value, (type_, binary) in zip(values, types, strict=False)]
        )

    def _shape_of(self, about: _Expected) -> list[_Column]:
        """Return the columns of the rows that come: of the statement as prepared, in the formats of this Bind."""
        if about.portal and about.portal.statement.columns:
            columns, binary = about.portal.statement.columns, about.portal.columns_binary
            formats = binary * len(columns) if len(binary) == 1 else binary or [False] * len(columns)
            return [_Column(each.name, each.type, form) for each, form in zip(columns, formats, strict=False)]
        return self._shape

    def _skip(self, about: _Expected) -> None:
        """After an error nothing more is answered up to the next Sync, sent or not."""
        if about.type in b"QFS":
            return
        self._skipping = True
        while self._expected and self._expected[0].type not in b"SQF":
            request = self._expected.popleft().request
            request.done = not self._expected or self._expected[0].request is not request


def _message(type_: bytes, body: bytes) -> bytes:
    return type_ + struct.pack(">i", len(body) + 4) + body


def _text(text: str) -> bytes:
    return text.encode() + b"\0"


def _messages(buffer: bytearray) -> Iterator[tuple[bytes, bytes]]:
    """Take whole messages out of the front of `buffer`."""
    at = 0
    while len(buffer) - at >= 5:
        end = at + 1 + struct.unpack_from(">i", buffer, at + 1)[0]
        if len(buffer) < end:
            break
        yield bytes(buffer[at : at + 1]), bytes(buffer[at + 5 : end])
        at = end
    del buffer[:at]


def _string(body: bytes, at: int) -> tuple[str, int]:
    end = body.index(b"\0", at)
    return body[at:end].decode(errors="replace"), end + 1


def _values(body: bytes, at: int) -> list[bytes | None]:
    """Read a counted list of values, each after its length."""
    count = struct.unpack_from(">h", body, at)[0]
    at += 2
    values: list[bytes | None] = []
    for _ in range(count):
        length = struct.unpack_from(">i", body, at)[0]
        at += 4
        values.append(None if length < 0 else body[at : at + length])
        at += max(length, 0)
    return values


def _formats(body: bytes, at: int) -> tuple[list[bool], int]:
    count = struct.unpack_from(">h", body, at)[0]
    return [code == 1 for code in struct.unpack_from(f">{count}h", body, at + 2)], at + 2 + 2 * count


def _bind(statement: _Statement, body: bytes, at: int) -> _Portal:
    formats, at = _formats(body, at)
    values = _values(body, at)
    at += 2 + sum(4 + len(value or b"") for value in values)
    results, _ = _formats(body, at)
    binary = formats * len(values) if len(formats) == 1 else formats or [False] * len(values)
    types = statement.parameters or [0] * len(values)
    shown = [_shown(value, type_, form) for value, type_, form in zip(values, types, binary, strict=False)]
    return _Portal(statement, shown, results)


def _columns(body: bytes) -> list[_Column]:
    count = struct.unpack_from(">h", body)[0]
    at, columns = 2, []
    for _ in range(count):
        name, at = _string(body, at)
        _, _, type_, _, _, form = struct.unpack_from(">ihihih", body, at)
        columns.append(_Column(name, type_, form == 1))
        at += 18
    return columns


def _shown(value: bytes | None, type_: int, binary: bool) -> str | None:
    """Return a value as text; a binary one of a type that isn't known here as text where it is that, else in hex."""
    if value is None:
        return None
    if binary:
        if type_ in SIGNED and len(value) == struct.calcsize(SIGNED[type_]):
            return str(struct.unpack(SIGNED[type_], value)[0])
        if type_ == BOOLEAN and len(value) == 1:
            return "t" if value == b"\1" else "f"
        if type_ == 0 and len(value) in (2, 4, 8):
            return str(int.from_bytes(value, signed=True))
    try:
        return value.decode()
    except UnicodeDecodeError:
        return "\\x" + value.hex()
