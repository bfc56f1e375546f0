"""One task at a time that a signal cancels."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class Interruptible:
    """Runs a coroutine so that INT, TERM, HUP and QUIT cancel it, also when they were inherited as ignored."""

    def __init__(self) -> None:
        self._task: asyncio.Task[Any] | None = None
        self._cancelled = False

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` to its end. A cancel that came before it began cancels it as well."""
        task = asyncio.create_task(work)
        self._task = task
        if self._cancelled:
            self.cancel()
        try:
            return await task
        finally:
            self._task = None

    def cancel(self) -> None:
        """Cancel what runs, or what will be run next; once it has begun, so that it can tell how it ended."""
        self._cancelled = True
        if self._task is not None:
            self._task.get_loop().call_soon(self._task.cancel)

    @contextmanager
    def signals(self, clean_up: Callable[[], object]) -> Iterator[None]:
        """Listen to the signals. A second one does not wait: `clean_up`, then the end, exit code 130."""
        loop = asyncio.get_running_loop()
        seen = 0

        def on_signal() -> None:
            nonlocal seen
            seen += 1
            if seen > 1:
                clean_up()
                os._exit(130)
            self.cancel()

        for number in _SIGNALS:
            loop.add_signal_handler(number, on_signal)
        try:
            yield
        finally:
            for number in _SIGNALS:
                loop.remove_signal_handler(number)
