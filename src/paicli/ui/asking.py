"""Questions in the terminal's usual line mode, which can be called off while they wait.

`input` in a thread cannot: after Ctrl+C it would go on reading, and take the keys from the prompt.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import sys
import termios
from collections.abc import Callable, Iterator

_LOCAL = 3
_LONGEST = 65_536


class Asking:
    """Asks for lines at the terminal, from any one thread; a context manager."""

    def __init__(self) -> None:
        self._woken, self._wake = os.pipe()

    def __enter__(self) -> Asking:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._woken)
        os.close(self._wake)

    def call_off(self) -> None:
        """End the question that waits, and all later ones, with KeyboardInterrupt."""
        os.write(self._wake, b".")

    def line(self, question: str, *, hidden: bool = False) -> str:
        """Return the line that the person types; `hidden`: it is not shown.

        Raises EOFError at Ctrl+D or without a terminal, KeyboardInterrupt when called off.
        """
        keyboard = sys.stdin.fileno()
        sys.stdout.write(question)
        sys.stdout.flush()
        newline_is_shown = False
        try:
            with _unseen(keyboard) if hidden else contextlib.nullcontext():
                typed = self._read(keyboard)
            newline_is_shown = not hidden
        finally:
            if not newline_is_shown:
                sys.stdout.write("\n")
                sys.stdout.flush()
        return typed.decode("utf-8", "replace").rstrip("\n")

    def _read(self, keyboard: int) -> bytes:
        ready = select.select([keyboard, self._woken], [], [])[0]
        if self._woken in ready:
            raise KeyboardInterrupt
        typed = os.read(keyboard, _LONGEST)
        if not typed:
            raise EOFError
        return typed


@contextlib.contextmanager
def _unseen(keyboard: int) -> Iterator[None]:
    before = termios.tcgetattr(keyboard)
    silent = termios.tcgetattr(keyboard)
    silent[_LOCAL] &= ~termios.ECHO
    termios.tcsetattr(keyboard, termios.TCSADRAIN, silent)
    try:
        yield
    finally:
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)


async def ask_in_thread(function: Callable[[Asking], str]) -> str:
    """Run `function` in a thread; when this is cancelled, call its question off and wait for its end."""
    with Asking() as asking:
        running = asyncio.ensure_future(asyncio.to_thread(function, asking))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            asking.call_off()
            await asyncio.wait([running])
            raise
