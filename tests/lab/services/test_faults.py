"""What can go wrong with every service, and what must not stay behind."""

import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from iobound.errors import LabError
from iobound.lab import processes, urls
from iobound.lab.service import ServiceOptions, find
from iobound.lab.services import mariadb, postgresql, valkey

SERVERS = ["mariadb", "postgresql", "valkey"]
MODULES = {"mariadb": mariadb, "postgresql": postgresql, "valkey": valkey}
SCHEMES = {"mariadb": "mysql", "postgresql": "postgresql", "valkey": "redis"}

OWNER = """
import json, sys, time
from contextlib import ExitStack
from iobound.lab.service import ServiceOptions, find
print("starting", flush=True)
with ExitStack() as exits:
    services = [exits.enter_context(find(name).start(ServiceOptions())) for name in sys.argv[1:]]
    print(json.dumps([[service.dataset(10), service.pids()] for service in services]), flush=True)
    time.sleep(60)
"""

skip_without_mariadb = pytest.mark.skipif(bool(mariadb.Service.unavailable()), reason="needs MariaDB")
servers = pytest.mark.parametrize("name", [pytest.param("mariadb", marks=skip_without_mariadb), "postgresql", "valkey"])


@pytest.fixture
def temporary(monkeypatch):
    """A folder to make temporary folders in, which every user can enter."""
    folder = Path(tempfile.mkdtemp(prefix="test-faults-"))
    folder.chmod(0o777)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    yield folder
    shutil.rmtree(folder)


def traces(folder):
    """What is left of services that worked under `folder`: files and processes."""
    running = [process for process in psutil.process_iter() if str(folder) in _folder(process)]
    return [*folder.iterdir(), *running]


def _folder(process):
    try:
        return process.cwd()
    except psutil.Error:
        return ""


def shared_memory(pid):
    """The shared memory of a process that would outlive it: POSIX files, and System V segments by their creator."""
    posix = {line.split()[-1] for line in Path(f"/proc/{pid}/maps").read_text().splitlines() if "/dev/shm/" in line}
    system_v = [line.split() for line in Path("/proc/sysvipc/shm").read_text().splitlines()]
    creators = [fields[system_v[0].index("cpid")] for fields in system_v[1:]]
    return [path for path in posix if Path(path).exists()], creators.count(str(pid))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_stays_when_the_owner_is_killed(temporary, until, number):
    names = [name for name in ["sqlite", *SERVERS] if not find(name).unavailable()]
    command = [sys.executable, "-c", OWNER, *names]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True) as owner:
        assert owner.stdout
        owner.stdout.readline()
        started = dict(zip(names, json.loads(owner.stdout.readline()), strict=True))
        assert len(traces(temporary)) >= 2 * len(names)
        [postmaster] = started["postgresql"][1]
        files, segments = shared_memory(postmaster)
        assert segments == 1
        os.killpg(owner.pid, number)
    assert until(lambda: not traces(temporary)), traces(temporary)
    for url, _ in started.values():
        if not url.startswith("sqlite"):
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection((urlsplit(url).hostname, urlsplit(url).port))
    assert not any(Path(file).exists() for file in files)
    assert f" {postmaster} " not in Path("/proc/sysvipc/shm").read_text()


@servers
def test_nothing_stays_when_the_owner_is_killed_while_it_starts(temporary, until, name):
    with subprocess.Popen([sys.executable, "-c", OWNER, name], stdout=subprocess.PIPE) as owner:
        assert owner.stdout
        owner.stdout.readline()
        assert until(lambda: len(traces(temporary)) >= 2)
        owner.kill()
    assert until(lambda: not traces(temporary)), traces(temporary)


def ordinary_python():
    """A Python of this version that an ordinary user can run, ``None`` where there is none."""
    for candidate in (sys.executable, f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"):
        try:
            subprocess.run([candidate, "-c", ""], user=65534, group=65534, extra_groups=[], check=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        return candidate
    return None


@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests run as an ordinary user already")
def test_an_ordinary_user_can_start_all(temporary, until):
    python = ordinary_python()
    if not python:
        pytest.skip("no Python that an ordinary user can run")
    names = [name for name in ["sqlite", *SERVERS] if not find(name).unavailable()]
    # redis-py needs a package before Python 3.11.3, which isn't installed for ours
    (temporary / "async_timeout.py").write_text("from asyncio import timeout")
    paths = [str(temporary), *(path for path in sys.path if "site-packages" in path or path.endswith("src"))]
    with subprocess.Popen(
        [python, "-c", OWNER, *names],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd="/",
        stdout=subprocess.PIPE,
        user=65534,
        group=65534,
        extra_groups=[],
    ) as owner:
        assert owner.stdout
        owner.stdout.readline()
        started = json.loads(owner.stdout.readline())
        pids = [pid for _, pids in started for pid in pids]
        assert len(pids) == len(names) - 1
        assert {psutil.Process(pid).uids().effective for pid in pids} == {65534}
        owner.kill()
    (temporary / "async_timeout.py").unlink()
    assert until(lambda: not traces(temporary)), traces(temporary)


@pytest.mark.skipif(os.geteuid() != 0, reason="runs as this user otherwise")
@servers
def test_database_servers_of_root_run_as_another_user(running, name):
    [pid] = running(name).pids()
    assert psutil.Process(pid).uids().effective == (0 if name == "valkey" else 65534)


@servers
def test_a_port_in_use_is_named_and_nothing_stays(temporary, monkeypatch, name):
    port = processes.free_port()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        monkeypatch.setattr(MODULES[name], "free_port", lambda: port)
        with pytest.raises(LabError, match=rf"(?s)didn't start on port {port}: .*[Aa]ddress already in use"):
            find(name).start(ServiceOptions())
    assert not traces(temporary)


@servers
def test_it_starts_again_after_a_failure_and_after_a_stop(temporary, monkeypatch, name):
    with monkeypatch.context() as broken:
        broken.setattr(MODULES[name], "START_TIMEOUT_S", 0)
        with pytest.raises(LabError, match="0 s passed before"):
            find(name).start(ServiceOptions())
    for _ in range(2):
        with find(name).start(ServiceOptions()) as service:
            assert service.info().version
    assert not traces(temporary)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the server as another user")
def test_a_folder_that_the_server_user_cannot_enter_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(LabError, match=r"postgresql runs as user number 65534, who can't enter .*; set TMPDIR"):
        find("postgresql").start(ServiceOptions())


@pytest.fixture
def small_disk(temporary):
    """A disk of 24 MB."""
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m,mode=0755", "small", temporary], check=False)
    if mounted.returncode:
        pytest.skip("can't mount a small disk here")
    yield temporary
    subprocess.run(["umount", "--lazy", temporary], check=True)


def test_a_full_disk_is_named(small_disk, monkeypatch):
    with pytest.raises(LabError, match=r"postgresql needs \d+ MB of disk, .* has 2\d MB free; .*TMPDIR"):
        find("postgresql").start(ServiceOptions())
    monkeypatch.setattr(postgresql, "ROOM_MB", 0)
    with pytest.raises(LabError, match=r"(?s)PostgreSQL .* didn't start.*No space left on device"):
        find("postgresql").start(ServiceOptions())
    assert not traces(small_disk)


@pytest.mark.parametrize("name", [pytest.param("mariadb", marks=skip_without_mariadb), "postgresql"])
def test_a_limit_on_the_size_of_files_is_named(temporary, name):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    failed = subprocess.run([sys.executable, "-c", OWNER, name], preexec_fn=limit, capture_output=True, text=True, check=False)
    assert "LabError" in failed.stderr
    assert "didn't start on port" in failed.stderr
    assert not traces(temporary)


@servers
def test_a_url_that_refuses_is_named_without_its_password(name):
    url = f"{SCHEMES[name]}://me:topsecret@127.0.0.1:{processes.free_port()}/"
    with pytest.raises(LabError, match=r"can't connect to \w+ at .*me@127.*refused.*check that") as caught:
        find(name).start(ServiceOptions(url=url))
    assert "topsecret" not in str(caught.value)


@servers
def test_a_wrong_password_is_named_without_it(running, name):
    right = urlsplit(running(name).dataset(10))
    url = right._replace(netloc=f"iobound:topsecret@{right.hostname}:{right.port}").geturl()
    with pytest.raises(LabError, match=r"can't connect to \w+ at .*(denied|authentication|invalid)") as caught:
        find(name).start(ServiceOptions(url=url))
    assert "topsecret" not in str(caught.value)


@servers
def test_a_url_that_never_answers_is_given_up(monkeypatch, name):
    for limit in ("CONNECT_TIMEOUT_S", "ANSWER_TIMEOUT_S", "TIMEOUT_S"):
        monkeypatch.setattr(MODULES[name], limit, 2, raising=False)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        before = time.monotonic()
        with pytest.raises(LabError, match=r"can't connect to \w+ at .*([Tt]imed out|[Tt]imeout)"):
            find(name).start(ServiceOptions(url=f"{SCHEMES[name]}://me@127.0.0.1:{silent.getsockname()[1]}/x"))
        assert time.monotonic() - before < 30


@servers
def test_a_server_that_dies_is_named(name):
    with closing(find(name).start(ServiceOptions())) as service:
        url = service.dataset(10)
        os.kill(service.pids()[0], signal.SIGKILL if name == "valkey" else signal.SIGQUIT)
        with pytest.raises(LabError, match=r"at \w+://\S* failed to tell its counters"):
            for _ in range(100):
                service.counters(url)
                time.sleep(0.05)


@servers
def test_clean_drops_what_a_killed_run_left_and_nothing_else(running, name):
    server = urls.with_database(running(name).dataset(10), {"mariadb": "", "postgresql": "postgres", "valkey": "0"}[name])
    script = OWNER.replace("ServiceOptions()", "ServiceOptions(url=sys.argv[2])").replace("sys.argv[1:]", "sys.argv[1:2]")
    with (
        find(name).start(ServiceOptions(url=server)) as live,
        subprocess.Popen([sys.executable, "-c", script, name, server], stdout=subprocess.PIPE) as owner,
    ):
        assert owner.stdout
        owner.stdout.readline()
        data = live.dataset(10)
        left = urls.database(json.loads(owner.stdout.readline())[0][0])
        before = find(name).clean(server)
        assert any(left in item for item in before.in_use)
        owner.kill()
        owner.wait()
        time.sleep(0.1)
        after = find(name).clean(server)
        assert any(left in item for item in after.dropped)
        assert any(urls.database(data) in item for item in after.in_use)
        assert live.info()
        assert find(name).clean(server).dropped == []
    assert running(name).dataset(10)
