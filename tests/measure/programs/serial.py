"""A server that serves one request at a time, over kept connections, and burns CPU for each; its port is the second argument.

burn MS             burns MS in its own process
fork MS             burns MS in a child that is made for the request
restless MS SHARE   burns MS, and SHARE of a core whether or not it is asked anything
"""

import os
import select
import socket
import sys
import threading
import time
from contextlib import suppress

what, port, *arguments = sys.argv[1:]
seconds = float(arguments[0]) / 1000
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def burn() -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def fork() -> None:
    child = os.fork()
    if not child:
        burn()
        os._exit(0)
    os.waitpid(child, 0)


def idle(share: float) -> None:
    while True:
        until = time.thread_time() + share / 50
        while time.thread_time() < until:
            pass
        time.sleep((1 - share) / 50)


WORK = {"burn": burn, "fork": fork, "restless": burn}
if what == "restless":
    threading.Thread(target=idle, args=[float(arguments[1])], daemon=True).start()
listener = socket.create_server(("127.0.0.1", int(port)), backlog=1024)
poll = select.epoll()
poll.register(listener, select.EPOLLIN)
connections: dict[int, socket.socket] = {}
while True:
    for fd, _ in poll.poll():
        if fd == listener.fileno():
            connection, _ = listener.accept()
            connections[connection.fileno()] = connection
            poll.register(connection, select.EPOLLIN)
        elif connections[fd].recv(65536):
            WORK[what]()
            with suppress(OSError):  # nobody waits for it any more
                connections[fd].send(ANSWER)
        else:
            poll.unregister(fd)
            connections.pop(fd).close()
