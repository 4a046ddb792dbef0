"""The relay's process: forwards connections, each direction later by its delay. Run with an `Order` as its argument.

One epoll and one timer that is never early, as in the load generator: a loop's timers are a millisecond coarse.
Bytes are due their delay after they were read, so that waking up for them costs some microseconds on top; a relay without a
delay shows how many.
"""

from __future__ import annotations

import errno
import gc
import os
import resource
import select
import socket
import struct
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from heapq import heappop, heappush

import msgspec

from iobound.lab.network.delay import ALL_BYTES, FAIR_BYTES, LINE_BYTES, DelayLine, End, Wire
from iobound.lab.network.messages import PACKET_BYTES, Answer, Ask, Order, Traffic, Upstream
from iobound.load.network import Timer

CHUNK = 1 << 18
AT_ONCE = 16  # events between looks at what is due
BACKLOG = 4096
LINGER_NOT = struct.pack("ii", 1, 0)  # SO_LINGER: closing sends a reset
NEVER = 1 << 62

clock = time.monotonic_ns


class Side:
    """One of the two sockets of a connection. `line` holds what it sent to the `peer`.

    `ended` says that its stream ended, `finished` that the peer was told, `blocked` that it can't take more now, `lost` that
    the socket is broken, `watched` what epoll reports of it.
    """

    __slots__ = ("blocked", "connection", "ended", "finished", "line", "lost", "peer", "socket", "watched")

    def __init__(self, connection: Connection, own: socket.socket, line: DelayLine) -> None:
        self.connection = connection
        self.socket = own
        self.line = line
        self.peer = self
        self.ended = self.finished = self.blocked = self.lost = False
        self.watched = 0


class Connection:
    """A client's connection and the one to the service that it is forwarded to."""

    __slots__ = ("answered", "client", "connected", "number", "open", "service")

    def __init__(self, number: int, client: tuple[socket.socket, DelayLine], service: tuple[socket.socket, DelayLine]) -> None:
        self.number = number
        self.client = Side(self, *client)
        self.service = Side(self, *service)
        self.client.peer, self.service.peer = self.service, self.client
        self.connected = False
        self.answered = True
        self.open = True


class Relay:
    """Forwards what comes to its port, and answers on its control socket."""

    def __init__(self, order: Order) -> None:
        self._upstream = order.upstream
        self._delay_ns = order.each_way.delay_ns
        self._up, self._down = Wire(order.each_way, seed=1), Wire(order.each_way, seed=2)
        rate = order.each_way.bytes_per_s
        self._chunk = CHUNK if rate is None else min(CHUNK, max(1460, int(rate / 1000)))  # on a slow wire, a millisecond's
        self._connections: dict[int, Connection] = {}
        self._made = self._refused = self._turns = 0
        self._to_service = self._to_client = 0
        self._held = 0
        self._full: set[Side] = set()
        self._stalled = False
        self._due: list[tuple[int, int, Side]] = []
        self._entries = 0
        self._timer = Timer()
        self._rings_at = NEVER
        self._epoll = select.epoll()
        self._handlers: dict[int, Callable[[int], None]] = {}
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
        self._listener.setblocking(False)
        self._control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
        self._control.bind(order.control)
        self._control.listen()
        self._listen(self._timer.fd, self._rung)
        self._listen(self._listener.fileno(), self._accept)
        self._listen(self._control.fileno(), self._admit)

    def run(self) -> None:
        """Forward until the process is ended."""
        poll, handlers, due = self._epoll.poll, self._handlers, self._due
        while True:
            for fd, event in poll(-1, AT_ONCE):
                if fd in handlers:  # an earlier event may have closed it
                    handlers[fd](event)
            while due and due[0][0] <= clock() and not self._stalled:
                self._forward(heappop(due)[2])
            if due and due[0][0] != self._rings_at and not self._stalled:
                self._rings_at = due[0][0]
                self._timer.set(self._rings_at)

    def _listen(self, fd: int, handler: Callable[[int], None]) -> None:
        self._handlers[fd] = handler
        self._epoll.register(fd, select.EPOLLIN)

    def _rung(self, event: int) -> None:
        os.read(self._timer.fd, 8)
        self._rings_at = NEVER

    # --- connections ------------------------------------------------------------------------------------------------

    def _accept(self, event: int) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in {errno.ECONNABORTED, errno.EINTR}:
                    continue
                raise
            self._connect(client)

    def _connect(self, client: socket.socket) -> None:
        """Connect a client to the service at once, and let bytes through as late as after a handshake over the link."""
        now, way = clock(), self._delay_ns
        client.setblocking(False)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        service, failure = begin(self._upstream)
        self._made += 1
        # the client hears of it after two ways, the service of the client after three
        connection = Connection(
            self._made, (client, DelayLine(self._up, now + 2 * way)), (service, DelayLine(self._down, now + 3 * way))
        )
        self._connections[self._made] = connection
        connection.service.blocked = True
        for side in (connection.client, connection.service):
            self._handlers[side.socket.fileno()] = partial(self._happened, side)
        if failure in {0, errno.EINPROGRESS}:
            self._watch(connection.client)
            self._watch(connection.service)
        else:
            self._refuse(connection)

    def _refuse(self, connection: Connection) -> None:
        self._refused += 1
        self._lost(connection.service)

    def _close(self, connection: Connection) -> None:
        if not connection.open:
            return
        connection.open = False
        del self._connections[connection.number]
        for side in (connection.client, connection.service):
            self._held -= side.line.clear()
            self._full.discard(side)
            del self._handlers[side.socket.fileno()]
            side.socket.close()  # epoll forgets it by itself

    def _reset(self, connection: Connection) -> None:
        for side in (connection.client, connection.service):
            with suppress(OSError):
                side.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_NOT)
        self._close(connection)

    # --- bytes ------------------------------------------------------------------------------------------------------

    def _happened(self, side: Side, event: int) -> None:
        connection = side.connection
        if side is connection.service and not connection.connected:
            if side.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                self._refuse(connection)
                return
            connection.connected = True
        if side.blocked and event & (select.EPOLLOUT | select.EPOLLERR | select.EPOLLHUP):
            side.blocked = False
            self._forward(side.peer)
        if connection.open and not side.ended and event & ~select.EPOLLOUT:
            self._read(side)
        if connection.open:
            self._watch(side)

    def _read(self, side: Side) -> None:
        try:
            data = side.socket.recv(self._chunk)
        except BlockingIOError:
            return
        except OSError:
            self._lost(side)
            return
        if not data:
            side.ended = True
            self._put(side, End.FIN)
            return
        connection = side.connection
        if side is connection.client:
            self._to_service += len(data)
            self._turns += connection.answered
            connection.answered = False
        else:
            self._to_client += len(data)
        self._held += len(data)
        self._put(side, data)

    def _lost(self, side: Side) -> None:
        """Have the peer of a broken socket hear of that in its time; what was to be sent to it is dropped."""
        self._held -= side.peer.line.clear()
        if not side.lost:
            side.lost = side.ended = True
            self._put(side, End.RESET)
            self._watch(side)

    def _put(self, side: Side, what: bytes | End) -> None:
        line = side.line
        waiting = line.due is not None
        line.put(what, clock())
        if not waiting and not side.peer.blocked:
            self._schedule(side)

    def _schedule(self, side: Side) -> None:
        due = side.line.due
        if due is not None:
            self._entries += 1
            heappush(self._due, (due, self._entries, side))

    def _forward(self, side: Side) -> None:
        """Send what `side` sent and is due to its peer."""
        connection, line, peer = side.connection, side.line, side.peer
        while connection.open and not self._stalled and (due := line.due) is not None and due <= clock():
            what = line.first
            if what is End.RESET:
                self._reset(connection)
                return
            try:
                if what is End.FIN:
                    peer.socket.shutdown(socket.SHUT_WR)
                    size = 0
                else:
                    size = peer.socket.send(what)
            except BlockingIOError:
                peer.blocked = True
                self._watch(peer)
                return
            except OSError:
                self._lost(peer)
                break
            line.sent(size)
            if what is End.FIN:
                side.finished = True
                if peer.finished:
                    self._close(connection)
                continue
            self._held -= size
            if side is connection.service:
                connection.answered = True
        if connection.open:
            self._schedule(side)
            for full in list(self._full):
                self._watch(full)

    def _watch(self, side: Side) -> None:
        """Have epoll report what can be done with a socket; where nothing can, not even that it hung up, again and again."""
        held = side.line.held
        takes = held < FAIR_BYTES or (held < LINE_BYTES and self._held < ALL_BYTES)
        (self._full.discard if takes else self._full.add)(side)
        reads = takes and not side.ended and (side.connection.connected or side is side.connection.client)
        wanted = 0 if side.lost else (select.EPOLLIN if reads else 0) | (select.EPOLLOUT if side.blocked else 0)
        if wanted == side.watched:
            return
        if not side.watched:
            self._epoll.register(side.socket.fileno(), wanted)
        elif wanted:
            self._epoll.modify(side.socket.fileno(), wanted)
        else:
            self._epoll.unregister(side.socket.fileno())
        side.watched = wanted

    # --- control ----------------------------------------------------------------------------------------------------

    def _admit(self, event: int) -> None:
        controller, _ = self._control.accept()

        def hear(event: int) -> None:
            packet = controller.recv(PACKET_BYTES)
            if packet:
                controller.send(msgspec.json.encode(self._obey(msgspec.json.decode(packet, type=Ask))))
            else:
                del self._handlers[controller.fileno()]
                controller.close()

        self._listen(controller.fileno(), hear)

    def _obey(self, ask: Ask) -> Answer:
        cut = list(self._connections.values())[: ask.count] if ask.do == "cut" else []
        for connection in cut:
            self._reset(connection)
        if ask.do == "stall":
            self._stalled = True
        elif ask.do == "resume":
            self._stalled = False
            self._due.clear()
            for connection in self._connections.values():
                for side in (connection.client, connection.service):
                    if not side.peer.blocked:
                        self._schedule(side)
        traffic = Traffic(
            connections=self._made,
            open=len(self._connections),
            refused=self._refused,
            to_service_bytes=self._to_service,
            to_client_bytes=self._to_client,
            turns=self._turns,
        )
        return Answer(self._listener.getsockname()[1], len(cut), traffic)


def begin(upstream: Upstream) -> tuple[socket.socket, int]:
    """Begin a connection to a service; return its socket and 0, EINPROGRESS, or why it failed."""
    if upstream.unix_socket is not None:
        connection = socket.socket(socket.AF_UNIX)
        failure = connection.connect_ex(upstream.unix_socket)  # without waiting, many at a time would be refused
        connection.setblocking(False)
        return connection, failure
    family = socket.AF_INET6 if ":" in upstream.host else socket.AF_INET
    connection = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection, connection.connect_ex((upstream.host, upstream.port))


def main() -> None:
    """Forward as the order in the argument says, until ended."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with suppress(PermissionError):  # a network isn't held up by what its hosts compute
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    relay = Relay(msgspec.json.decode(sys.argv[1], type=Order))
    gc.freeze()
    relay.run()


if __name__ == "__main__":
    main()
