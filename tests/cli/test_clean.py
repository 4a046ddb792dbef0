import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from iobound.lab.service import ServiceOptions, find

LEAVE_FOLDER = (
    "import os; from iobound.lab.scratch import Scratch; print(Scratch('test').path, flush=True); os.kill(os.getpid(), 9)"
)
LEAVE_DATABASE = """
import os, sys
from iobound.lab.service import ServiceOptions, find
service = find("valkey").start(ServiceOptions(url=sys.argv[1]))
service.dataset(1)
os.kill(os.getpid(), 9)
"""


@pytest.fixture
def temporary():
    folder = Path(tempfile.mkdtemp(prefix="test-clean-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def clean(temporary):
    def run(*options):
        command = [sys.executable, "-m", "iobound", "clean", *options]
        return subprocess.run(
            command, env={**os.environ, "TMPDIR": str(temporary)}, capture_output=True, text=True, check=False
        )

    return run


@pytest.fixture
def abandoned(temporary):
    environment = {**os.environ, "TMPDIR": str(temporary)}
    killed = subprocess.run([sys.executable, "-c", LEAVE_FOLDER], env=environment, capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    return Path(killed.stdout.strip())


def test_nothing_found_is_no_error(clean):
    done = clean()
    assert (done.returncode, done.stdout) == (0, "here: nothing left behind\n")
    assert json.loads(clean("--json").stdout) == {"here": {"dropped": [], "in_use": []}}


def test_a_folder_of_a_killed_run_is_removed(clean, abandoned):
    done = clean()
    assert (done.returncode, done.stdout) == (0, f"here: removed {abandoned}\n")
    assert not abandoned.exists()


def test_a_server_given_by_url_is_cleaned_too(clean, abandoned):
    with find("valkey").start(ServiceOptions()) as server:
        url = server.dataset(1)
        subprocess.run([sys.executable, "-c", LEAVE_DATABASE, url], check=False)
        with find("valkey").start(ServiceOptions(url=url)):
            found = json.loads(clean("--valkey", url, "--json").stdout)
            assert found == {
                "here": {"dropped": [str(abandoned)], "in_use": []},
                "valkey": {"dropped": ["database 15"], "in_use": ["database 14"]},
            }
        assert clean("--valkey", url).stdout == "here: nothing left behind\nvalkey: nothing left behind\n"


def test_a_server_that_cannot_be_reached_is_named(clean):
    done = clean("--postgres", "postgresql://me:topsecret@127.0.0.1:1/x")
    assert done.returncode == 3
    assert "can't connect to PostgreSQL at postgresql://me@127.0.0.1:1/x" in done.stderr
    assert "topsecret" not in done.stderr
