import time

import pytest

from iobound.lab.service import ServiceOptions, find


@pytest.fixture(scope="session")
def running():
    """Private services by name, each started when it is first asked for."""
    started = {}

    def get(name):
        if name not in started:
            started[name] = find(name).start(ServiceOptions())
        return started[name]

    yield get
    for service in started.values():
        service.close()


@pytest.fixture
def postgresql(running):
    return running("postgresql")


@pytest.fixture
def mariadb(running):
    return running("mariadb")


@pytest.fixture
def valkey(running):
    return running("valkey")


def wait_for(condition, timeout_s=10.0):
    """Wait for `condition()` and tell whether it came true."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


@pytest.fixture
def until():
    return wait_for
