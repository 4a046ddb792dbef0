"""Groups of workers in processes of their own. Keeps to the syntax of Python 3.6."""

import multiprocessing
import os

from feeding import PHASES, Streaming
from phases import LacksError, RefusedError, merge


class Shared:
    """Lines that were all read before the processes were forked, each of which is given out once."""

    def __init__(self, lines):
        self._lines = lines
        self._next = multiprocessing.Value("l", 0)

    def take_now(self):
        with self._next.get_lock():
            number = self._next.value
            self._next.value += 1
        return self._lines[number] if number < len(self._lines) else None

    def end(self):
        self._next.value = len(self._lines)


def shared(job, feeder, waiting):
    """Return what gives the lines of each phase to all processes. Call it before they are forked."""
    if job["feeder"] == "published":
        raise LacksError("the published feeder, which runs among the workers of one process,")
    if job["feeder"] == "preloaded":
        return {phase: Shared(feeder.everything(phase)) for phase in PHASES}
    return {phase: Streaming(feeder.receivers[phase], waiting) for phase in PHASES}


class Forked:
    """A group for each of `makers`, made and run in a process of its own; together they are a group."""

    def __init__(self, makers):
        self._makers = makers
        self._processes = []

    def connect(self):
        """Fork the processes one after the other, each once the one before has connected."""
        labels = {}
        for make in self._makers:
            ours, theirs = multiprocessing.Pipe()
            pid = os.fork()
            if pid == 0:
                status = 1
                try:
                    ours.close()
                    for _, others in self._processes:
                        others.close()
                    _serve(make(), theirs)
                    status = 0
                finally:
                    os._exit(status)
            theirs.close()
            self._processes.append((pid, ours))
            labels = _answer(ours)
        return dict(labels, processes=len(self._processes))

    def run(self, phase):
        """Have all load the lines of a phase."""
        for _, process in self._processes:
            process.send(phase)
        return merge([_answer(process) for _, process in self._processes])

    def close(self):
        """Have all close their connections and end."""
        for pid, process in self._processes:
            process.close()
            os.waitpid(pid, 0)


def _serve(group, pipe):
    try:
        pipe.send(group.connect())
        while True:
            pipe.send(group.run(pipe.recv()))
    except (RefusedError, LacksError) as error:
        pipe.send(error)
    except EOFError:
        group.close()


def _answer(pipe):
    try:
        answer = pipe.recv()
    except EOFError:
        raise RuntimeError("a process of workers died")
    if isinstance(answer, Exception):
        raise answer
    return answer
