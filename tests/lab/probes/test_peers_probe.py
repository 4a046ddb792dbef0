import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from iobound.lab.probes import peers

LISTEN = (
    "import socket; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True); c = s.accept(); input()"
)
CONNECT = "import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); print('up', flush=True); input()"


ANSWER = """
import socket
listener = socket.create_server(('127.0.0.1', 0))
print(listener.getsockname()[1], flush=True)
while True:
    connection, _ = listener.accept()
    connection.recv(1)
    connection.close()
"""
ASK_OFTEN = """
import socket, sys, time
print('up', flush=True)
while True:
    with socket.create_connection(('127.0.0.1', int(sys.argv[1]))) as connection:
        time.sleep(0.02)
        connection.send(b'.')
    time.sleep(0.005)
"""


@contextmanager
def run(program: str, *arguments: str) -> Iterator[tuple[int, str]]:
    """Run a program until the context is left; yield its process and the first line that it prints."""
    command = [sys.executable, "-S", "-c", program, *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield process.pid, process.stdout.readline().strip()
        finally:
            process.kill()


def test_who_is_connected_to_is_found_and_only_that() -> None:
    with run(LISTEN) as (listener, port), run(CONNECT, port) as (client, _):
        assert peers.of(client) == [listener]
        assert peers.of(listener) == []


def test_who_is_connected_to_for_a_moment_each_time_is_found() -> None:
    with run(ANSWER) as (listener, port), run(ASK_OFTEN, port) as (client, _):
        with peers.PeerProbe(client) as probe:
            time.sleep(0.5)
        assert probe.found == [listener]


def test_what_is_not_ours_to_see_is_not_nothing() -> None:
    """A connection whose other end nobody here listens for, as one to another machine."""
    listening = socket.create_server(("127.0.0.1", 0))
    with listening, run(CONNECT, str(listening.getsockname()[1])) as (client, _):
        accepted, _ = listening.accept()
        with accepted:
            listening.close()
            assert peers.of(client) is None
            assert peers.both(None, []) is None
