"""Sessions of a server that do something in the background, and whether a session waits."""

import threading
import time

import pytest

from iobound.lab.service import ServiceOptions, find


def private(name):
    why = find(name).unavailable()
    if why:
        pytest.skip(why)
    with find(name).start(ServiceOptions()) as service:
        yield service.dataset(0)


@pytest.fixture(scope="module")
def postgresql_url():
    yield from private("postgresql")


@pytest.fixture(scope="module")
def mariadb_url():
    yield from private("mariadb")


class Background:
    """A call in a thread; its error is kept."""

    def __init__(self, call):
        self.error = None
        self._call = call
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        try:
            self._call()
        except Exception as error:
            self.error = error

    def running(self):
        return self._thread.is_alive()

    def join(self):
        self._thread.join(20)
        assert not self.running()
        return self.error


@pytest.fixture
def background():
    """Return a function that starts a call in a thread; whatever still runs at the end of the test is waited for."""
    started = []

    def start(call, *arguments):
        started.append(Background(lambda: call(*arguments)))
        return started[-1]

    yield start
    for each in started:
        each.join()


@pytest.fixture
def seen():
    """Return a function that looks until `session` is seen waiting while `call` runs; ``None`` where it never is."""

    def look(observer, session, call):
        while call.running():
            found = observer.blocked([session])
            if session in found:
                return found[session]
            time.sleep(0.001)
        return None

    return look
