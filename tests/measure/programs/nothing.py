"""Answers every read with the same bytes on the port that is its argument: faster than any generator asks."""

import socket
import sys
from select import EPOLLIN, epoll

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=1024)
waiting = epoll()
waiting.register(listener, EPOLLIN)
connections: dict[int, socket.socket] = {}
while True:
    for fd, _ in waiting.poll():
        if fd == listener.fileno():
            connection, _ = listener.accept()
            connections[connection.fileno()] = connection
            waiting.register(connection, EPOLLIN)
            continue
        try:
            asked = connections[fd].recv(65536)
        except ConnectionResetError:
            asked = b""
        if asked:
            connections[fd].send(ANSWER)
        else:
            connections.pop(fd).close()
