"""The terminal in raw mode from the first moment on, before there is anything that reads it.

Keys pressed while the program starts would be echoed into the first screen, Ctrl+C would end the
start, and Enter would arrive as a newline.
"""

from __future__ import annotations

import os
import select
import termios
from collections.abc import Iterator
from contextlib import contextmanager

_INPUT, _LOCAL, _CHARACTERS = 0, 3, 6
_LINE_MODE = str.maketrans("\n\0", "\r\x04")
"""By what line mode makes of a key: the key."""


@contextmanager
def raw_terminal(descriptor: int) -> Iterator[str]:
    """Switch to raw mode and back at the end; yield what was typed before, with Enter and Ctrl+D as such."""
    before = termios.tcgetattr(descriptor)
    raw = termios.tcgetattr(descriptor)
    raw[_LOCAL] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
    raw[_INPUT] &= ~(termios.IXON | termios.IXOFF | termios.ICRNL | termios.INLCR | termios.IGNCR)
    raw[_CHARACTERS][termios.VMIN] = 1
    termios.tcsetattr(descriptor, termios.TCSANOW, raw)
    try:
        typed = b""
        while select.select([descriptor], [], [], 0)[0]:
            piece = os.read(descriptor, 65_536)
            if not piece:
                break
            typed += piece
        yield typed.decode("utf-8", "surrogateescape").translate(_LINE_MODE)
    finally:
        try:
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
        except termios.error:
            pass  # the terminal is gone
