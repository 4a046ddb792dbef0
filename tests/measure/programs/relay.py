"""Relays TCP from a port to another, each direction delayed: LISTEN TARGET MS (threads and sleeps; only for tests)."""

import queue
import socket
import sys
import threading
import time

listen, target, delay = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]) / 1000


def pump(source: socket.socket, sink: socket.socket) -> None:
    parcels: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()

    def deliver() -> None:
        while True:
            due, data = parcels.get()
            time.sleep(max(0.0, due - time.monotonic()))
            if not data:
                sink.close()
                return
            sink.sendall(data)

    threading.Thread(target=deliver, daemon=True).start()
    while True:
        data = source.recv(65536)
        parcels.put((time.monotonic() + delay, data))
        if not data:
            return


with socket.create_server(("127.0.0.1", listen), backlog=128) as server:
    while True:
        near, _ = server.accept()
        far = socket.create_connection(("127.0.0.1", target))
        for one, other in ((near, far), (far, near)):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=pump, args=(one, other), daemon=True).start()
