"""Takes the steps of `driver_program.py` where they are coroutines, all in one task, as contexts are those of a task."""

import asyncio
import inspect


def run(steps):
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        return loop.run_until_complete(awaited(steps))
    finally:
        loop.close()


async def awaited(steps):
    called = next(steps)
    while not isinstance(called, dict):
        try:
            result = await called if inspect.isawaitable(called) else called
        except Exception as error:
            called = steps.throw(error)
        else:
            called = steps.send(result)
    return called
