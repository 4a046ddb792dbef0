"""Environments are built by uv from locks, once, whole or not at all."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from iobound.errors import LabError, Unavailable, UsageError
from iobound.lab import environments, interpreters
from iobound.lab.environments import LOCKS, MARKER, environment

SIX = (  # installs on any Python
    "six==1.17.0 --hash=sha256:4721f391ed90541fddacab5acf947aa0d3dc7d27b2e1e8eda2be8970586c3274 "
    "--hash=sha256:ff70335d468e7eb6ec65b95b99d3a2836546063f63acc5171de367e834932a81\n"
)


def locked(package: str) -> str:
    """Return the lines of one package of the catalogue's lock."""
    text = (LOCKS / "catalogue.txt").read_text()
    found = re.search(rf"^{package}==.*\n(?:    .*\n)*", text, re.MULTILINE)
    assert found
    return found[0]


@pytest.fixture
def locks(tmp_path, monkeypatch) -> Path:
    """A folder with one small lock, and a cache of environments that is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "locks"
    folder.mkdir()
    (folder / "small.txt").write_text(locked("h11"))
    return folder


def folders(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "cache" / "iobound" / "environments").iterdir() if path.is_dir()]


def test_an_environment_holds_what_the_lock_says(locks):
    built = environment("small", locks=locks)
    version = re.match(r"h11==(\S+)", locked("h11"))[1]
    assert built.packages == {"python": sys.version.split()[0], "h11": version}
    said = subprocess.run([built.python, "-c", "import h11; print(h11.__version__)"], capture_output=True, text=True)
    assert said.stdout.strip() == version


def test_it_is_compiled_and_built_once(locks, monkeypatch):
    built = environment("small", locks=locks)
    assert list(built.python.parent.parent.glob("lib/*/site-packages/h11/__pycache__/*.pyc"))
    monkeypatch.setattr(environments, "_uv", lambda *arguments: pytest.fail("uv was asked again"))
    assert environment("small", locks=locks) == built


def test_another_lock_is_another_environment(locks):
    first = environment("small", locks=locks)
    (locks / "small.txt").write_text(locked("idna"))
    assert "idna" in environment("small", locks=locks).packages
    assert first.python.exists()


def test_an_unknown_environment_is_answered_with_the_nearest(locks):
    with pytest.raises(UsageError, match="did you mean small"):
        environment("smal", locks=locks)


def test_one_that_was_cut_off_does_not_count(locks, tmp_path):
    built = environment("small", locks=locks)
    [folder] = folders(tmp_path)
    (folder / MARKER).unlink()
    for path in folder.glob("lib/*/site-packages/h11/*.py"):
        path.unlink()
    environment("small", locks=locks)
    assert subprocess.run([built.python, "-c", "import h11"]).returncode == 0


def test_builders_at_the_same_time_build_once(locks, monkeypatch):
    calls = []
    uv = environments._uv

    def counted(arguments, *rest):
        calls.append(arguments[0])
        uv(arguments, *rest)

    monkeypatch.setattr(environments, "_uv", counted)
    with ThreadPoolExecutor(4) as pool:
        built = list(pool.map(lambda _: environment("small", locks=locks), range(4)))
    assert len(set(map(str, built))) == 1
    assert calls == ["venv", "pip"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_build_leaves_nothing_that_counts(locks, tmp_path, number):
    program = (
        "import sys, pathlib; from iobound.lab import environments\n"
        "def hang(arguments, *rest):\n"
        "    pathlib.Path(arguments[-1]).mkdir(); print('building', flush=True); import time; time.sleep(60)\n"
        "environments._uv = hang\n"
        "environments.environment('small', locks=pathlib.Path(sys.argv[1]))\n"
    )
    building = subprocess.Popen([sys.executable, "-c", program, locks], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert building.stdout
    assert building.stdout.readline() == b"building\n"
    building.send_signal(number)
    building.communicate(timeout=20)
    if number == signal.SIGINT:
        assert folders(tmp_path) == []
    assert "h11" in environment("small", locks=locks).packages


def test_a_uv_that_outlives_a_killed_iobound_is_waited_for(locks, tmp_path, monkeypatch):
    slow = tmp_path / "uv"
    slow.write_text(f"#!/bin/sh\ntouch {tmp_path}/started; sleep 1.5; touch {tmp_path}/ended\n")
    slow.chmod(0o755)
    program = (
        "import sys, pathlib, uv; from iobound.lab import environments\n"
        "uv.find_uv_bin = lambda: sys.argv[2]\n"
        "environments.environment('small', locks=pathlib.Path(sys.argv[1]))\n"
    )
    building = subprocess.Popen([sys.executable, "-c", program, locks, slow])
    while not (tmp_path / "started").exists():
        time.sleep(0.01)
    building.kill()
    building.wait()
    assert not (tmp_path / "ended").exists()
    environment("small", locks=locks)
    assert (tmp_path / "ended").exists()


def test_without_a_network_what_is_missing_is_named(locks, tmp_path, monkeypatch):
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    with pytest.raises(LabError) as caught:
        environment("small", locks=locks)
    message = str(caught.value)
    assert message.startswith("the environment 'small' can't be built")
    assert "h11" in message
    assert "once with a network" in message
    assert folders(tmp_path) == []


def test_a_wrong_hash_is_refused(locks, tmp_path):
    lock = locks / "small.txt"
    lock.write_text(re.sub(r"sha256:[0-9a-f]+", "sha256:" + "0" * 64, lock.read_text()))
    with pytest.raises(LabError, match=r"[Hh]ash"):
        environment("small", locks=locks)
    assert folders(tmp_path) == []


def test_certificates_of_the_system_are_tried_where_those_of_uv_do_not_do(locks, tmp_path, monkeypatch):
    asked = tmp_path / "asked"
    picky = tmp_path / "uv"
    picky.write_text(
        f'#!/bin/sh\necho "$@" >> {asked}\n'
        'case "$*" in *--system-certs*) exec "$REAL_UV" "$@"; esac\n'
        "echo 'invalid peer certificate: UnknownIssuer' >&2; exit 2\n"
    )
    picky.chmod(0o755)
    monkeypatch.setenv("REAL_UV", environments.uv.find_uv_bin())
    monkeypatch.setattr(environments.uv, "find_uv_bin", lambda: str(picky))
    assert "h11" in environment("small", locks=locks).packages
    assert len(asked.read_text().splitlines()) == 4


def test_certificates_that_nothing_trusts_are_explained(locks, tmp_path, monkeypatch):
    refusing = tmp_path / "uv"
    refusing.write_text("#!/bin/sh\necho 'invalid peer certificate: UnknownIssuer' >&2; exit 2\n")
    refusing.chmod(0o755)
    monkeypatch.setattr(environments.uv, "find_uv_bin", lambda: str(refusing))
    with pytest.raises(LabError, match="SSL_CERT_FILE"):
        environment("small", locks=locks)


def test_an_index_that_pip_was_told_of_is_used(locks, tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.delenv("UV_DEFAULT_INDEX", raising=False)
    with pytest.raises(LabError, match=r"127\.0\.0\.1:9"):
        environment("small", locks=locks)


def test_a_lock_named_for_an_interpreter_is_built_with_it(locks):
    if interpreters.missing("3.8"):
        pytest.skip("Python 3.8 isn't on this machine")
    (locks / "small-3.8.txt").write_text(locked("h11"))
    (locks / "small.txt").write_text(locked("idna"))
    built = environment("small", "3.8", locks=locks)
    assert built == environment("small-3.8", locks=locks)
    assert built.packages["python"].startswith("3.8.")
    assert "h11" in built.packages


@pytest.mark.parametrize("python", ["3.6", "pypy3"])
def test_one_on_another_interpreter(locks, python):
    if missing := interpreters.missing(python):
        pytest.skip(missing)
    (locks / "small.txt").write_text(SIX)
    built = environment("small", python, locks=locks)
    assert built.packages == {"python": interpreters.find(python).version, "six": "1.17.0"}
    assert subprocess.run([built.python, "-c", "import six"]).returncode == 0
    assert list(built.python.parent.parent.glob("lib/*/site-packages/__pycache__/six.*.pyc"))


def test_one_on_python_2_is_filled_by_its_pip(monkeypatch, tmp_path):
    if missing := interpreters.missing("2.7"):
        pytest.skip(missing)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    built = environment("calls", "2.7")
    assert built.name == "calls-2.7"
    assert built.packages["python"].startswith("2.7.")
    assert built.packages["gevent"] == "22.10.2"
    said = subprocess.run(  # a socket of gevent needs zope.interface, a namespace package
        [built.python, "-c", "import gevent.socket, psycopg2; gevent.socket.socket(); print('fine')"],
        env={"PYTHONPATH": str(built.path[0])},
        capture_output=True,
        text=True,
    )
    assert said.stdout == "fine\n", said.stderr


def test_a_wrong_hash_is_refused_on_python_2(locks):
    if missing := interpreters.missing("2.7"):
        pytest.skip(missing)
    with pytest.raises(LabError, match=r"'small' can't be built[\s\S]*[Hh]ash"):
        (locks / "small.txt").write_text(
            SIX.replace("sha256:4721f3", "sha256:000000").replace("sha256:ff7033", "sha256:000000")
        )
        environment("small", "2.7", locks=locks)


def test_a_bare_interpreter_is_an_environment_without_packages():
    built = environments.bare()
    assert (built.python, built.path) == (interpreters.own().path, ())
    assert list(built.packages) == ["python"]


def test_an_interpreter_that_is_missing_is_named_with_what_installs_it(locks):
    with pytest.raises(Unavailable, match=r"uv python install 3\.99"):
        environment("small", "3.99", locks=locks)


def test_a_cache_that_is_not_ours_is_named(locks, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc")
    with pytest.raises(LabError, match="XDG_CACHE_HOME"):
        environment("small", locks=locks)
