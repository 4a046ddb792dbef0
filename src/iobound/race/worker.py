"""A process that runs sessions of an exploration: ``python -P worker.py MODEL``, told what to do on standard input.

It is run by its path, so that nothing is imported before gevent has patched it. First comes one line that says which
functions with which arguments, then ``start N`` and ``where N``, each a JSON list. It answers on what was its standard output;
what the functions print goes to standard error. It ends with its standard input.
"""

from __future__ import annotations

import base64
import json
import os
import pickle
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

ANSWERS = 1


def answer(*words: Any) -> None:
    """Write one answer."""
    os.write(ANSWERS, json.dumps(words, default=repr).encode() + b"\n")


def calls(line: bytes) -> list[Callable[[], Any]]:
    """Import the functions and bind their arguments."""
    order = json.loads(line)
    sys.path.extend(path for path in order["path"] if path not in sys.path)
    from iobound.race import cases

    arguments = pickle.loads(base64.b64decode(order["arguments"]))
    return [
        partial(cases.undecorated(cases.find(Path(file), name)), *given)
        for (file, name), given in zip(order["functions"], arguments, strict=True)
    ]


def carry_out(session: int, call: Callable[[], Any]) -> None:
    """Run one call; tell that it begins and how it ended."""
    from iobound.race.models import described, resolved

    answer("begun", session)
    try:
        answer("ended", session, resolved(call()), None, "")
    except BaseException as error:
        how = described(error)
        answer("ended", session, None, how.raised, how.chain)


def process() -> None:
    """Run calls in the main thread, as a process of its own would."""
    lines = iter(sys.stdin.buffer.readline, b"")
    known = calls(next(lines))
    from iobound.race import sources

    todo: queue.SimpleQueue[int] = queue.SimpleQueue()
    main = threading.get_ident()

    def listen(lines: Iterator[bytes]) -> None:
        for line in lines:
            what, session = json.loads(line)
            if what == "start":
                todo.put(session)
            else:
                answer("where", session, sources.innermost(sys._current_frames().get(main)))
        os._exit(0)

    threading.Thread(target=listen, args=[lines], daemon=True).start()
    answer("ready")
    while True:
        session = todo.get()
        carry_out(session, known[session])


def greenlets() -> None:
    """Run each call in a greenlet, everything patched as gevent has it."""
    from gevent import monkey

    monkey.patch_all()
    import gevent
    from gevent.fileobject import FileObject

    with FileObject(0, "rb", closefd=False) as commands:
        known = calls(commands.readline())
        from iobound.race import sources

        answer("ready")
        running: dict[int, Any] = {}
        for line in iter(commands.readline, b""):
            what, session = json.loads(line)
            if what == "start":
                running[session] = gevent.spawn(carry_out, session, known[session])
            else:
                answer("where", session, sources.innermost(running[session].gr_frame))
    os._exit(0)


if __name__ == "__main__":  # not where this is imported, for whose standard output isn't ours
    ANSWERS = os.dup(1)
    os.dup2(2, 1)
    greenlets() if sys.argv[1] == "gevent" else process()
