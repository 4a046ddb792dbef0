"""The other end of a socket: a process that sends back what it gets. Runs on Python 2.7 and later."""

import os
import signal
import socket
import time
from contextlib import contextmanager


@contextmanager
def echo(delay_s=0.0):
    """Fork a process that accepts one TCP connection on the loopback interface and answers each byte after `delay_s`.

    Yields its address. It ends when the block is left, or when the connection is closed.
    """
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(1)
    pid = os.fork()
    if pid == 0:
        try:
            _answer(listener, delay_s)
        finally:
            os._exit(0)
    try:
        yield listener.getsockname()
    finally:
        listener.close()
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _answer(listener, delay_s):
    connection = listener.accept()[0]
    listener.close()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while True:
        data = connection.recv(1)
        if not data:
            return
        if delay_s:
            time.sleep(delay_s)
        connection.sendall(data)
