"""The loopback proxy: every statement of every driver, thread, task or process passes here, and is held until it is released.

A client's connection is opened by the proxy itself, without a password, and carried by a session of the server that is used
again afterwards: cleaned as the server's protocol has it, and waited for, so that the end of a connection releases its locks
at a known moment. Answers are held as well: a statement that a commit unblocks is answered when it is its session's turn, so
that one session runs at a time.
"""

from __future__ import annotations

import socket
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache

from iobound.errors import IoboundError
from iobound.lab.processes import LOOPBACK
from iobound.race import statements
from iobound.race.databases import Server, Upstream
from iobound.race.gate import Held, unchanged
from iobound.race.wakeup import Wakeup
from iobound.race.wire import Answer, Cancel, ClientEvent, Goodbye, Refused, Request, Startup, Stream
from iobound.records.race import StepKind

CHUNK = 1 << 16


class HeldRequest:
    """See `iobound.race.gate.Held`."""

    def __init__(self, link: Link, request: Request, sql: str, kind: StepKind) -> None:
        self.sql = sql
        self.kind = kind
        self.parameters = request.parameters
        self.connection: object = link
        self.request = request
        self.link = link
        self.released = False
        self.delivered = False
        self.kept = bytearray()

    @property
    def inside(self) -> bool:
        """Whether the session of the server is in a transaction."""
        return self.link.conversation.in_transaction

    @property
    def answer(self) -> Answer | None:
        """What the server answered, also where the connection was lost."""
        if self.request.done:
            return self.request.answer
        return Answer(error=("", "the connection was lost")) if self.link.closed else None

    def release(self) -> None:
        """Send it to the server."""
        self.released = True
        self.link.go_on()

    def deliver(self) -> None:
        """Pass the answer on."""
        self.delivered = True
        self.link.deliver(self)


class Link:
    """One client's connection and the session of the server that carries it."""

    def __init__(self, proxy: Proxy, client: socket.socket) -> None:
        self._proxy = proxy
        self._client: socket.socket | None = client
        self.conversation = proxy.server.conversation()
        self.upstream: Upstream | None = None
        self._startup: Startup | None = None
        self._queue: deque[Request] = deque()
        self._head: HeldRequest | None = None
        self._sent: dict[int, HeldRequest] = {}
        self._renewing: list[Request] = []
        self._ours: list[Request] = []
        self._isolation = proxy.isolation
        self.closed = False
        proxy.wakeup.watch(client, self._from_client)
        self._tell(self.conversation.hello(proxy.next_number()))

    @property
    def backend(self) -> int:
        """The server's number of the session."""
        return self.upstream.backend if self.upstream else 0

    @property
    def left_open(self) -> bool:
        """Whether the client still has the connection, with a transaction on it."""
        return self._client is not None and self.conversation.in_transaction

    def _tell(self, data: bytes) -> None:
        if data and self._client:
            try:
                self._client.sendall(data)
            except OSError:
                self._left()

    def _from_client(self) -> None:
        assert self._client
        try:
            data = self._client.recv(CHUNK)
        except OSError:
            data = b""
        if not data:
            self._left()
            return
        for event in self.conversation.from_client(data, self._proxy.rewrite):
            self._act(event)
        self.go_on()

    def _act(self, event: ClientEvent) -> None:
        match event:
            case Request():
                if not self.conversation.pipelines and (self._queue or self._sent):
                    self._proxy.shared.append(self)
                self._queue.append(event)
            case Stream(data) if self._queue:  # some drivers don't wait until the server asks for it
                self._queue[-1].data += data
            case Stream(data):
                self._send(data)
            case Refused(answer):
                self._tell(answer)
            case Startup():
                self._open(event)
            case Cancel(backend):
                self._proxy.cancel(backend)
            case Goodbye():
                self._left()

    def _open(self, startup: Startup) -> None:
        try:
            self.upstream = self._proxy.take(startup)
        except IoboundError as error:
            self._proxy.refused.append(error)
            self._tell(self.conversation.failure(str(error)))
            self._left()
            return
        self._startup = startup
        self._proxy.new.append(self)
        self._proxy.sets_isolation |= any("isolation" in word for pair in startup.key for word in pair)
        self._proxy.wakeup.watch(self.upstream.socket, self._from_server)
        self._tell(self.conversation.welcome(self.upstream.backend, self.upstream.facts))

    def go_on(self) -> None:
        """Send what may be sent: set-up at once, a step when it is released, what is behind a step when that is answered."""
        while self._queue and not self._sent:
            request = self._queue[0]
            kind = self._kind(request)
            if request.sql and "isolation" in request.sql.lower():
                self._proxy.sets_isolation = True
            if self._head is None and request.sql is not None and kind and not self._proxy.through:
                self._head = HeldRequest(self, request, request.sql, kind)
                self._proxy.arrived.append(self._head)
            if self._head and not self._head.released:
                return
            self._queue.popleft()
            if self._head:
                self._sent[id(request)] = self._head
                self._head = None
            self.conversation.sent(request)
            self._send(request.data)

    def _kind(self, request: Request) -> StepKind | None:
        """Return what kind of step a request is; to end a transaction that isn't there or has failed is none."""
        kind = statements.kind(request.sql) if request.sql is not None else None
        ends_nothing = kind in ("commit", "rollback") and (not self.conversation.in_transaction or self.conversation.failed)
        return None if ends_nothing else kind

    def _send(self, data: bytes) -> None:
        if self.upstream:
            with suppress(OSError):  # its end is read
                self.upstream.socket.sendall(data)

    def _from_server(self) -> None:
        assert self.upstream
        try:
            data = self.upstream.socket.recv(CHUNK)
        except OSError:
            data = b""
        if not data:
            self.lose()
            return
        for part, request in self.conversation.from_server(data):
            held = self._sent.get(id(request)) if request else None
            if held and not held.delivered:
                held.kept += part
                if request and request.streams:
                    self._tell(bytes(held.kept))
                    held.kept.clear()
            elif not self._renewing and request not in self._ours:
                self._tell(part)
        if self._renewing:
            if all(request.done for request in self._renewing):
                self._renewed()
            elif not self.conversation.waiting:
                self._renew()
        elif not self._sent:
            self.go_on()

    def isolate(self, isolation: str | None) -> None:
        """Change the level of the session, unseen by the client."""
        if self.upstream and not self._renewing:
            self._ours = [self._proxy.server.isolate(self.conversation, isolation)]
            for request in self._ours:
                self.conversation.sent(request)
                self._send(request.data)

    def deliver(self, held: HeldRequest) -> None:
        """Pass a complete answer on to the client, and go on with what it has sent meanwhile."""
        self._sent.pop(id(held.request), None)
        self._tell(bytes(held.kept))
        self.go_on()

    def _left(self) -> None:
        """The client is gone: renew the session for another one, or end it where it is in the middle of something."""
        if self._client is None:
            return
        self._proxy.wakeup.forget(self._client)
        self._client.close()
        self._client = None
        self._queue.clear()
        self._proxy.withdraw(self)
        if self.upstream is None:
            self.lose()
        elif any(not held.request.done for held in self._sent.values()):
            self._proxy.server.end(self.backend)
            self.lose()
        else:
            self._sent.clear()
            self._renewing = self._proxy.server.renewal(self.conversation, self._isolation)
            self._renew()

    def _renew(self) -> None:
        """Send the next request of a renewal; one at a time, for the kernel holds back small packets in a row."""
        request = next(request for request in self._renewing if not request.done)
        self.conversation.sent(request)
        self._send(request.data)

    @property
    def busy(self) -> bool:
        """Whether something other than a step is on its way: set-up, or what makes the session like new."""
        return bool(self._renewing) or (self.conversation.waiting and not self._sent)

    def _renewed(self) -> None:
        failed = any(request.answer.error for request in self._renewing)
        self._renewing = []
        self.closed = True
        assert self.upstream
        assert self._startup
        self._proxy.wakeup.forget(self.upstream.socket)
        self._proxy.links.discard(self)
        if failed:
            self.upstream.close()
        else:
            self._proxy.give_back(self._startup, self._isolation, self.upstream)
        self.upstream = None

    def lose(self) -> None:
        """End both sides: the server has ended the session, or is to."""
        self.closed = True
        self._renewing = []
        self._proxy.links.discard(self)
        if self.upstream:
            self._proxy.wakeup.forget(self.upstream.socket)
            self.upstream.close()
            self.upstream = None
        if self._client:
            self._proxy.wakeup.forget(self._client)
            for held in self._sent.values():
                with suppress(OSError):
                    self._client.sendall(bytes(held.kept))
            self._client.close()
            self._client = None

    def hang_up(self) -> None:
        """End the connection from our side."""
        self._left()


@cache
def _listener(url: str) -> socket.socket:
    """Return the socket at which the server of `url` is to be had for as long as this process lives.

    So its address stays what it was for a program that keeps it, as one does that makes its engine when it is imported.
    """
    return socket.create_server((LOOPBACK, 0), backlog=128)


class Proxy:
    """See `iobound.race.gate.Gate`. One listening port for all sessions; a context manager."""

    def __init__(self, server: Server, wakeup: Wakeup) -> None:
        self.server = server
        self.wakeup = wakeup
        self.isolation: str | None = None
        self.through = True
        self.links: set[Link] = set()
        self.arrived: list[HeldRequest] = []
        self.new: list[object] = []
        self.refused: list[IoboundError] = []
        self.shared: list[object] = []
        self.sets_isolation = False
        self.rewrite: Callable[[str], str] = unchanged
        self.deadlock_s = server.deadlock_s
        self._idle: defaultdict[tuple[Startup, str | None], list[Upstream]] = defaultdict(list)
        self._observer = server.observe()
        self._listener = _listener(server.url)
        self._numbers = 0
        self.port: int = self._listener.getsockname()[1]
        wakeup.watch(self._listener, self._accept)

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.links.add(Link(self, client))

    def next_number(self) -> int:
        """Return a number for a connection whose session isn't chosen yet."""
        self._numbers += 1
        return self._numbers

    def take(self, startup: Startup) -> Upstream:
        """Return an idle session of the kind that `startup` wants, or a new one."""
        idle = self._idle[startup, self.isolation]
        return idle.pop() if idle else self.server.connect(startup, self.isolation)

    def give_back(self, startup: Startup, isolation: str | None, upstream: Upstream) -> None:
        """Keep a clean session for the next client."""
        self._idle[startup, isolation].append(upstream)

    def cancel(self, backend: int) -> None:
        """Cancel what a session does by ending it: a cancelled execution is over anyway."""
        for link in list(self.links):
            if link.backend == backend:
                self.server.end(backend)

    def withdraw(self, link: Link) -> None:
        """Forget the statements of a client that is gone."""
        self.arrived = [held for held in self.arrived if held.link is not link]

    # --- as a gate ----------------------------------------------------------------------------------------------------

    def arrivals(self) -> list[Held]:
        """Return the statements that have come since the last call."""
        arrived: list[Held] = list(self.arrived)
        self.arrived = []
        return arrived

    def opened(self) -> list[object]:
        """Return the connections that were opened since the last call."""
        opened, self.new = self.new, []
        return opened

    def busy(self) -> bool:
        """Tell whether a session is being renewed."""
        return any(link.busy for link in self.links)

    def waiting(self, held: list[Held]) -> dict[int, list[object]]:
        """Ask the server which sessions wait."""
        backends = {link.backend: link for link in self.links if link.backend}
        places = {link.backend: place for place, each in enumerate(held) if isinstance(link := each.connection, Link)}
        found = self._observer.blocked(list(places))
        return {
            places[backend]: [backends[other] for other in others if other in backends] for backend, others in found.items()
        }

    def expire(self) -> bool:
        """Leave it to the server, which finds deadlocks and has time-outs."""
        return False

    def open(self, through: bool) -> None:
        """Let everything through, or hold it."""
        self.through = through

    def isolate(self, isolation: str | None) -> None:
        """Change the level of the sessions that are open, and of those to come."""
        self.isolation = isolation
        for link in list(self.links):
            link.isolate(isolation)

    def left_open(self) -> list[object]:
        """Return the connections with a transaction."""
        return [link for link in self.links if link.left_open]

    def settle(self, connections: Sequence[object]) -> None:
        """Hang up."""
        for link in list(self.links):
            if link in connections:
                link.hang_up()

    def abandon(self) -> None:
        """End all connections."""
        for link in list(self.links):
            link.hang_up()

    def close(self) -> None:
        """End everything."""
        self.wakeup.forget(self._listener)
        self.abandon()
        for link in list(self.links):
            link.lose()
        for upstreams in self._idle.values():
            for upstream in upstreams:
                upstream.close()
        self._idle.clear()
        self._observer.close()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
