# /// script
# requires-python = ">=2.7"
# dependencies = []
#
# [tool.iobound]
# kind = "primitives"
# title = "threads and a blocking socket"
# ///
"""What programs with threads do, 2.7 included."""

import socket
import threading
from timeit import default_timer as clock

import peer

try:
    from queue import Queue
except ImportError:  # Python 2.7
    from Queue import Queue


def thread_start(times):
    """A thread that does nothing, started and joined."""
    started = clock()
    for _ in times:
        thread = threading.Thread(target=_nothing)
        thread.start()
        thread.join()
    return clock() - started


def _nothing():
    pass


def thread_lock(times):
    """A `threading.Lock` that nobody holds, acquired and released by `with`."""
    lock = threading.Lock()
    started = clock()
    for _ in times:
        with lock:
            pass
    return clock() - started


def thread_switch(times):
    """A thread wakes another by releasing a lock, and waits: half of the way there and back."""
    mine, its = threading.Lock(), threading.Lock()
    mine.acquire()
    its.acquire()
    ended = []

    def answer():
        while True:
            its.acquire()
            if ended:
                return
            mine.release()

    other = threading.Thread(target=answer)
    other.start()
    started = clock()
    for _ in times:
        its.release()
        mine.acquire()
    taken = clock() - started
    ended.append(True)
    its.release()
    other.join()
    return taken / 2


def thread_queue_hop(times):
    """An item passed to another thread by a `queue.Queue`: half of the way there and back."""
    queue, back = Queue(), Queue()

    def answer():
        for item in iter(queue.get, None):
            back.put(item)

    other = threading.Thread(target=answer)
    other.start()
    started = clock()
    for _ in times:
        queue.put(1)
        back.get()
    taken = clock() - started
    queue.put(None)
    other.join()
    return taken / 2


def socket_round_trip(times):
    """One byte to an echoing process over loopback TCP and back: blocking `sendall` and `recv`."""
    with peer.echo() as address:
        connection = socket.create_connection(address)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
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
