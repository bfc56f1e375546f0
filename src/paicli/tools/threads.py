"""Blocking work beside the event loop, which still ends with the task that asked for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from threading import Event
from typing import TypeVar

T = TypeVar("T")


async def in_thread(work: Callable[[Event], T]) -> T:
    """Run `work(stop)` in a thread and return its result.

    When the task is cancelled, `stop` is set and the work awaited: nothing goes on behind the back
    of whoever cancelled. The work looks at `stop` before it changes anything, and now and then.
    """
    stop = Event()
    future = asyncio.get_running_loop().run_in_executor(None, work, stop)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait([future])
        if not future.cancelled():
            future.exception()  # taken, so that asyncio does not complain about it
        raise
