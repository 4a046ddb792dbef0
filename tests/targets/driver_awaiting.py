"""Takes the steps of `driver_program.py` where they are coroutines, all in one task, as contexts are those of a task."""

import asyncio
import inspect


def run(steps):
    return asyncio.get_event_loop_policy().new_event_loop().run_until_complete(awaited(steps))


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
