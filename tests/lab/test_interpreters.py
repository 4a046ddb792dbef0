"""Interpreters are found by starting them; what isn't found is named with what was tried and what installs it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from iobound.errors import Unavailable, UsageError
from iobound.lab import interpreters

OWN = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture(autouse=True)
def _asked_anew():
    """Forget what other tests found on another PATH, and what this test does."""
    forget()
    yield
    forget()


def forget() -> None:
    for cached in (interpreters.find, interpreters._ask, interpreters._uv_folder):
        cached.cache_clear()


@pytest.fixture
def elsewhere(tmp_path, monkeypatch) -> Path:
    """A machine with nothing but what is put into this folder: `bin` on PATH, `pyenv` and `uv` as they lay things out."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.setenv("UV_PYTHON_INSTALL_DIR", str(tmp_path / "uv"))
    return tmp_path


def fake(path: Path, version: str, implementation: str = "cpython", free_threaded: str = "false") -> Path:
    """Write a program that says it is a Python of this kind."""
    said = f'{{"version": "{version}", "implementation": "{implementation}", "free_threaded": {free_threaded}}}'
    return script(path, f"echo '{said}'")


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_its_own_is_found_and_lies_outside_of_the_environment():
    found = interpreters.find(OWN)
    assert found == interpreters.own()
    assert (found.release, found.source) == (sys.version_info[:2], "own")
    assert found.version == sys.version.split()[0]


def test_path_comes_before_pyenv_and_pyenv_before_uv(elsewhere):
    uv = fake(elsewhere / "uv" / "cpython-3.8.20-linux-x86_64-gnu" / "bin" / "python3.8", "3.8.20")
    assert (interpreters.find("3.8").path, interpreters.find("3.8").source) == (uv, "uv")
    fake(elsewhere / "pyenv" / "versions" / "3.8.9" / "bin" / "python3.8", "3.8.9")
    pyenv = fake(elsewhere / "pyenv" / "versions" / "3.8.18" / "bin" / "python3.8", "3.8.18")
    forget()
    assert (interpreters.find("3.8").path, interpreters.find("3.8").source) == (pyenv, "pyenv")
    assert interpreters.find("3.8.9").version == "3.8.9"
    on_path = fake(elsewhere / "bin" / "python3.8", "3.8.2")
    forget()
    assert (interpreters.find("3.8").path, interpreters.find("3.8").source) == (on_path, "path")


def test_each_kind_is_told_from_the_others(elsewhere):
    versions = elsewhere / "pyenv" / "versions"
    fake(versions / "3.7.1t" / "bin" / "python3.7", "3.7.1", free_threaded="true")
    fake(versions / "3.7.1t" / "bin" / "python3.7t", "3.7.1", free_threaded="true")
    fake(versions / "3.7.0" / "bin" / "python3.7", "3.7.0")
    fake(versions / "pypy3.10-7.3.15" / "bin" / "pypy3.10", "3.10.13", "pypy")
    fake(versions / "2.7.18" / "bin" / "python2.7", "2.7.18")
    assert interpreters.find("3.7").version == "3.7.0"
    assert interpreters.find("3.7t").free_threaded
    assert interpreters.find("pypy3.10").implementation == "pypy"
    assert interpreters.find("2.7").release == (2, 7)
    assert interpreters.common() == ["2.7", "3.7", OWN]


@pytest.mark.parametrize(
    ("asked", "installs"),
    [
        ("3.99", "uv python install 3.99"),
        ("3.13t", "uv python install 3.13t"),
        ("2.7", "pyenv install 2.7"),
        ("pypy3", "apt-get install pypy3"),
        ("pypy3.11", "uv python install pypy3.11"),
    ],
)
def test_one_that_is_missing_is_named_with_what_installs_it(elsewhere, asked, installs):
    with pytest.raises(Unavailable, match=rf"Python {asked} isn't on this machine[^`]*`{installs}` installs it$"):
        interpreters.find(asked)


def test_one_that_fails_is_passed_over_and_told_of(elsewhere):
    broken = script(elsewhere / "bin" / "python3.8", "echo 'pyenv: python3.8: command not found' >&2; exit 127")
    with pytest.raises(Unavailable, match=rf"tried {broken}: it ended with 127: pyenv: python3.8: command not found"):
        interpreters.find("3.8")
    works = fake(elsewhere / "pyenv" / "versions" / "3.8.18" / "bin" / "python3.8", "3.8.18")
    forget()
    assert interpreters.find("3.8").path == works


def test_a_path_is_taken_as_it_is(elsewhere):
    assert interpreters.find(sys.executable).path == Path(sys.executable)
    no_python = script(elsewhere / "some" / "program", "echo hello")
    with pytest.raises(UsageError, match=f"{no_python} isn't a Python that runs: it ended with 0: hello"):
        interpreters.find(str(no_python))
    with pytest.raises(UsageError, match="No such file"):
        interpreters.find(str(elsewhere / "nothing"))


def test_what_is_no_version_is_refused():
    with pytest.raises(UsageError, match=r"--python: 'three' is no version; it is like 3\.8"):
        interpreters.find("three")


def test_the_oldest_python_3(elsewhere):
    assert interpreters.oldest_python3() == interpreters.own()
    for version in ("3.5.9", "3.7.16", "3.8.18"):
        fake(elsewhere / "pyenv" / "versions" / version / "bin" / f"python{version[:3]}", version)
    forget()
    assert interpreters.oldest_python3().version == "3.7.16"
