"""Sessions as tasks of one event loop, in a thread of its own; a call that returns no awaitable runs as it is."""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
import threading
from collections.abc import Sequence
from functools import cache
from types import FrameType
from typing import Any

from iobound.race import sources, waits
from iobound.race.models import Call, Ended, described
from iobound.race.wakeup import Wakeup

CANCEL_S = 0.5


class Model:
    """See `iobound.race.models.Model`."""

    def __init__(self, calls: Sequence[Call], wakeup: Wakeup) -> None:
        self.ended: dict[int, Ended] = {}
        self._calls = calls
        self._wakeup = wakeup
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._awaited: dict[int, Any] = {}
        self._loop, self._thread = _event_loop()

    def reset(self) -> None:
        """Begin an execution."""
        self.ended = {}
        self._tasks = {}
        self._awaited = {}

    def start(self, session: int) -> None:
        """Make a task."""
        ended, tasks = self.ended, self._tasks

        async def run() -> None:
            try:
                result = self._calls[session]()
                how = Ended(returned=await result if inspect.isawaitable(result) else result)
            except BaseException as error:  # a cancelled task has ended too
                how = described(error)
            self._wakeup.tell(lambda: ended.__setitem__(session, how))

        def make() -> None:
            tasks[session] = self._loop.create_task(run(), name=f"iobound session {session}")

        self._loop.call_soon_threadsafe(make)

    def waits(self, session: int) -> bool:
        """Tell whether the task awaits what no timer brings, while neither the loop nor another thread works."""
        task, thread = self._tasks.get(session), self._thread.native_id
        awaited = getattr(task, "_fut_waiter", None)
        if task is None or thread is None or awaited is None or awaited.done() or _sleeps(task):
            return False
        self._awaited[session] = awaited
        return waits.idles(os.getpid(), thread) and not waits.runs(os.getpid(), {thread, threading.get_native_id()})

    def moved(self, session: int) -> bool:
        """See whether the task awaits something else, or needn't any more; an answer is awaited just as a lock is."""
        awaited: Any = getattr(self._tasks.get(session), "_fut_waiter", None)
        return awaited is None or awaited.done() or awaited is not self._awaited.get(session)

    def source(self, session: int) -> str | None:
        """Follow what the task awaits to the innermost frame of the program; look at the thread while the task runs."""
        task = self._tasks.get(session)
        if task is None:
            return None
        frames = [frame for frame in _frames(task.get_coro()) if sources.ours(frame.f_code.co_filename)]
        if frames:
            return f"{frames[-1].f_code.co_filename}:{frames[-1].f_lineno}"
        return sources.innermost(sys._current_frames().get(self._thread.ident or 0))

    def in_driver(self, session: int) -> bool:
        """Look at what the task awaits."""
        task = self._tasks.get(session)
        frames = _frames(task.get_coro()) if task else []
        return any(sources.is_driver(frame) for frame in frames[-2:])  # a lock's own frame may be the innermost

    def close(self) -> None:
        """Cancel what is left; the loop stays."""

        async def cancel() -> None:
            left = [task for task in self._tasks.values() if not task.done()]
            for task in left:
                task.cancel()
            if left:
                await asyncio.wait(left, timeout=CANCEL_S)

        try:
            asyncio.run_coroutine_threadsafe(cancel(), self._loop).result(2 * CANCEL_S)
        except TimeoutError:  # a call blocks the loop: the next exploration gets another one
            _event_loop.cache_clear()


@cache
def _event_loop() -> tuple[asyncio.AbstractEventLoop, threading.Thread]:
    """Return the one loop of this process, and its thread: a program's locks and pools are bound to the loop they met first."""
    loop = asyncio.new_event_loop()

    def run() -> None:
        asyncio.set_event_loop(loop)
        loop.run_forever()

    thread = threading.Thread(target=run, name="iobound event loop", daemon=True)
    thread.start()
    return loop, thread


def _frames(awaited: Any) -> list[FrameType]:
    """Return the frames of a suspended coroutine, the innermost last."""
    found = []
    while awaited is not None:
        for kind in ("cr", "gi", "ag"):
            frame = getattr(awaited, f"{kind}_frame", None)
            if frame is not None:
                found.append(frame)
        awaited = getattr(awaited, "cr_await", None) or getattr(awaited, "gi_yieldfrom", None)
    return found


def _sleeps(task: asyncio.Task[None]) -> bool:
    """Tell whether a task is in ``asyncio.sleep``, which ends by itself."""
    frames = _frames(task.get_coro())
    return bool(frames) and frames[-1].f_code is asyncio.sleep.__code__
