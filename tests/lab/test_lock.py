import os
import re
import subprocess
import sys
import time

import pytest

from iobound.errors import LabError
from iobound.lab.lock import MachineLock

HOLD = """
import sys, time
from iobound.lab.lock import MachineLock
with MachineLock("\\0" + sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def name():
    return f"\0iobound test {os.getpid()}"


@pytest.fixture
def holder(name):
    with subprocess.Popen([sys.executable, "-c", HOLD, name[1:]], stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"held\n"
        yield process
        process.kill()


def test_a_second_one_is_told_who_holds_it(name, holder):
    today = time.strftime("%Y-%m-%d")
    with (
        pytest.raises(LabError, match=rf"another iobound .*: process {holder.pid}, .*MachineLock.*, since {today}"),
        MachineLock(name),
    ):
        pass


def test_a_killed_holder_leaves_no_lock(name, holder):
    holder.kill()
    holder.wait()
    with MachineLock(name):
        pass


def test_it_is_free_again_after_use(name):
    with MachineLock(name), pytest.raises(LabError, match=re.escape(f"process {os.getpid()}")), MachineLock(name):
        pass
    with MachineLock(name):
        pass


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change the user")
def test_it_holds_across_users(name, holder):
    pid = os.fork()
    if pid == 0:
        os.setgid(65534)
        os.setuid(65534)
        try:
            with MachineLock(name):
                os._exit(1)
        except LabError as error:
            os._exit(0 if f"process {holder.pid}" in str(error) else 2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
