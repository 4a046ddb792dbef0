import subprocess
import sys

from iobound.lab.probes import peers

LISTEN = (
    "import socket; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True); c = s.accept(); input()"
)
CONNECT = "import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); print('up', flush=True); input()"


def run(program: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-S", "-c", program, *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_who_is_connected_to_is_found_and_only_that():
    with run(LISTEN) as listener:
        assert listener.stdout
        port = listener.stdout.readline().strip()
        with run(CONNECT, port) as client:
            assert client.stdout
            client.stdout.readline()
            assert peers.of(client.pid) == [listener.pid]
            assert peers.of(listener.pid) == []
            client.kill()
        listener.kill()
