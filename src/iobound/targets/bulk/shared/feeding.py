"""Feeds the lines of a data file: a process of its own reads and parses them and hands each over as one message.

The messages go through a socket that keeps their bounds (SOCK_SEQPACKET): a queue that the kernel bounds, and from which any
number of threads and processes may take. Keeps to the syntax of Python 2.7.
"""

import errno
import os
import pickle
import socket
import time
import zipfile
from collections import deque
from decimal import Decimal

GEO_COLUMNS = 5
PHASES = ("geo", "data")
MESSAGE = 1 << 17  # bytes, the longest that is taken
QUEUE = 20  # lines in the queue of the published feeder

clock = getattr(time, "perf_counter", time.time)


class Feeder(object):
    """The process that feeds: all lines for the phase ``geo``, then all for ``data``. Start it before any thread."""

    def __init__(self, job):
        pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in PHASES]
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                for receiver, _ in pairs:
                    receiver.close()  # so that sending fails once the program is gone
                if job["feeder_cpus"] and hasattr(os, "sched_setaffinity"):
                    os.sched_setaffinity(0, job["feeder_cpus"])
                for phase, (_, sender) in zip(PHASES, pairs):
                    _send(job, phase, sender)
                status = 0
            finally:
                os._exit(status)
        for _, sender in pairs:
            sender.close()
        self.receivers = dict(zip(PHASES, [receiver for receiver, _ in pairs]))

    def everything(self, phase):
        """Return all lines of a phase at once."""
        return list(iter(lambda: line_of(self.receivers[phase].recv(MESSAGE)), None))

    def ended(self):
        """Return the CPU seconds of the process, waiting for its end; raise where it failed."""
        _, status, usage = os.wait4(self.pid, 0)
        if status:
            raise RuntimeError("the process that reads the data file failed")
        return usage.ru_utime + usage.ru_stime


def _send(job, phase, sender):
    for number, text in _chosen(job):
        fields = text.split(",")
        values = [_number(field) for field in fields[GEO_COLUMNS:]] if phase == "data" else None
        sender.sendall(pickle.dumps((number, tuple(fields[:GEO_COLUMNS]), values), 2))
    sender.close()


def _chosen(job):
    """Yield the first `lines` lines and their numbers, but those to `skip`."""
    skip, left = set(job["skip"]), job["lines"]
    archive = zipfile.ZipFile(job["path"]) if job["path"].endswith(".zip") else None
    with archive.open(archive.namelist()[0]) if archive else open(job["path"], "rb") as data:
        for number, text in enumerate(data, 1):
            if number in skip:
                continue
            if left == 0:
                return
            left -= 1
            yield number, text.decode("ascii").strip()


def _number(text):
    return Decimal(text) if "." in text else int(text)


def line_of(message):
    """Return what was sent, ``None`` at the end."""
    return pickle.loads(message) if message else None


class Preloaded(object):
    """Lines that were all read before the clock starts.

    As all sources it has ``take_now() -> line``, ``None`` at the end, which raises `IndexError` where there is none yet;
    ``wait() -> line`` for that case, and ``end()``, after which there are no more.
    """

    def __init__(self, lines):
        self._lines = deque(lines)

    def take_now(self):
        try:
            return self._lines.popleft()
        except IndexError:
            return None

    def end(self):
        self._lines.clear()


class Streaming(object):
    """Lines as they come through `receiver`; one worker at a time waits for it, with the lock `waiting`."""

    def __init__(self, receiver, waiting):
        self.receiver = receiver
        self._waiting = waiting
        self._ended = False

    def take_now(self):
        if self._ended:
            return None
        try:
            return line_of(self.receiver.recv(MESSAGE, socket.MSG_DONTWAIT))
        except socket.error as error:
            if error.errno not in (errno.EAGAIN, errno.EWOULDBLOCK):
                raise
            raise IndexError

    def wait(self):
        with self._waiting:
            return line_of(self.receiver.recv(MESSAGE))

    def end(self):
        self._ended = True


class Published(object):
    """As the published suite did it: what fills the queue runs among the workers, and lets none run until it is full."""

    def __init__(self, stream):
        self._stream = stream
        self._lines = deque()
        self._ended = False

    def feed(self):
        """Fill the queue, waiting busily; return whether there is more to come."""
        while len(self._lines) < QUEUE and not self._ended:
            try:
                line = self._stream.take_now()
            except IndexError:
                continue
            if line is None:
                self._ended = True
            else:
                self._lines.append(line)
        return not self._ended

    def take_now(self):
        try:
            return self._lines.popleft()
        except IndexError:
            if self._ended:
                return None
            raise

    def wait(self):
        while True:
            time.sleep(0)
            try:
                return self.take_now()
            except IndexError:
                pass

    def end(self):
        self._ended = True
        self._lines.clear()
