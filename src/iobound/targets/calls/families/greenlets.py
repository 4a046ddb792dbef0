# /// script
# requires-python = ">=2.7"
# dependencies = [
#     "greenlet ; platform_python_implementation == 'CPython'",
#     "gevent ; platform_python_implementation == 'CPython'",
# ]
#
# [tool.iobound]
# kind = "primitives"
# title = "greenlets and gevent"
# ///
"""Switches without an `await`, 2.7 included. PyPy brings its own greenlets, without gevent."""

from timeit import default_timer as clock

import greenlet
import peer

try:
    import gevent
    import gevent.queue
    import gevent.socket
except ImportError:
    gevent = None


def greenlet_switch(times):
    """A switch from one greenlet to another: half of the way there and back."""
    here = greenlet.getcurrent()

    def answer():
        while True:
            here.switch()

    other = greenlet.greenlet(answer)
    other.switch()
    started = clock()
    for _ in times:
        other.switch()
    return (clock() - started) / 2


if gevent is not None:

    def gevent_spawn(times):
        """A greenlet of gevent that does nothing, spawned and joined."""
        started = clock()
        for _ in times:
            gevent.spawn(_nothing).join()
        return clock() - started

    def _nothing():
        pass

    def gevent_turn(times):
        """One turn of gevent's event loop in which only this greenlet is resumed: `gevent.sleep(0)`."""
        started = clock()
        for _ in times:
            gevent.sleep(0)
        return clock() - started

    def gevent_queue_hop(times):
        """An item passed to another greenlet by a queue of gevent: half of the way there and back."""
        queue, back = gevent.queue.Queue(), gevent.queue.Queue()

        def answer():
            for item in iter(queue.get, None):
                back.put(item)

        other = gevent.spawn(answer)
        started = clock()
        for _ in times:
            queue.put(1)
            back.get()
        taken = clock() - started
        queue.put(None)
        other.join()
        return taken / 2

    def gevent_socket_round_trip(times):
        """One byte to an echoing process over loopback TCP and back: `sendall` and `recv` of gevent's sockets."""
        with peer.echo() as address:
            connection = gevent.socket.create_connection(address)
            connection.setsockopt(gevent.socket.IPPROTO_TCP, gevent.socket.TCP_NODELAY, 1)
            _there_and_back(connection, [None])  # the first waits for the other end to start
            taken = _there_and_back(connection, times)
            connection.close()
        return taken

    def _there_and_back(connection, times):
        started = clock()
        for _ in times:
            connection.sendall(b"x")
            connection.recv(1)
        return clock() - started
