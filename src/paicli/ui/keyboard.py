"""Bytes of the keyboard to keys, where prompt_toolkit's own reading would mistake one for another."""

from __future__ import annotations

import asyncio
import contextlib
import re
import select
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TextIO

from prompt_toolkit.data_structures import Size
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding.key_processor import KeyPress

_SEQUENCE_WITHOUT_END = re.compile(r"\x1b(?:\[[0-9;?<]*|O)\Z")
_PLACES = re.compile(r"\x1b\[(\d+);\d+R\x1b\[(\d+);(\d+)R")
_PART_OF_PLACES = re.compile(r"\x1b(?:\[(?:[\d;]*|\d+;\d+R(?:\x1b(?:\[[\d;]*)?)?))?\Z")
_ANSWER_WAIT = 0.5
"""Seconds to wait for what a terminal is asked."""
_MOST_TRIES = 3
LATE = 0.15
"""Seconds after a lone Esc in which a `[` or `O` still belongs to it: a sequence that came in pieces."""


class Keyboard(Vt100Input):
    """A terminal's input that waits for the rest of a sequence, and tells when an Esc was none.

    `esc_was_none` is called when bytes after a lone Esc show that it began a sequence. While
    `stays_raw`, output above the prompt does not switch the terminal to line mode: keys typed in
    that moment would be echoed into the picture.
    """

    def __init__(self, stdin: TextIO, esc_was_none: Callable[[], None]) -> None:
        super().__init__(stdin)
        self._keys: list[KeyPress] = []
        self.vt100_parser = Vt100Parser(self._keys.append)
        self._esc_was_none = esc_was_none
        self._recent = ""
        self._esc_at = float("-inf")
        self.stays_raw = True
        self._held = ""
        self._answer: asyncio.Future[tuple[int, Size]] | None = None
        self._unanswered = 0

    async def answer(self, ask: Callable[[], None]) -> tuple[int, Size] | None:
        """Return the cursor's row and the window's size that the terminal says after `ask`.

        None when it does not; after some times it is not asked any more.
        """
        if self._unanswered >= _MOST_TRIES:
            return None
        self._answer = asyncio.get_running_loop().create_future()
        ask()
        try:
            answer = await asyncio.wait_for(self._answer, _ANSWER_WAIT)
        except TimeoutError:
            self._unanswered += 1
            return None
        self._answer, self._unanswered = None, 0
        return answer

    def drop_late_answer(self) -> None:
        """Take what the terminal may still have to say, lest it is typed into the shell."""
        if self._answer is not None and select.select([self.fileno()], [], [], _ANSWER_WAIT)[0]:
            self.stdin_reader.read()

    def keys_of(self, text: str) -> list[KeyPress]:
        """Return the keys that `text` consists of; the rest of an unfinished one is waited for."""
        self.vt100_parser.feed(text)
        return self._taken()

    def read_keys(self) -> list[KeyPress]:
        """Return the keys that have arrived."""
        data = self._without_answer(self._held + self.stdin_reader.read())
        if data and data[0] in "[O" and time.monotonic() - self._esc_at < LATE:
            self._esc_was_none()
            data = "\x1b" + data
        if data:
            self._esc_at = float("-inf")
        self._recent = (self._recent + data)[-40:]
        self.vt100_parser.feed(data)
        return self._taken()

    def flush_keys(self) -> list[KeyPress]:
        """Return what can be no part of a longer sequence; called when nothing has come for a while."""
        if self._held:
            self._recent = (self._recent + self._held)[-40:]
            self.vt100_parser.feed(self._held)
            self._held = ""
        if _SEQUENCE_WITHOUT_END.search(self._recent):
            return []
        if self._recent.endswith("\x1b"):
            self._esc_at = time.monotonic()
        self._recent = ""
        self.vt100_parser.flush()
        return self._taken()

    def cooked_mode(self) -> AbstractContextManager[None]:
        """Return line mode for programs that take the terminal over; nothing for our own output."""
        return contextlib.nullcontext() if self.stays_raw else super().cooked_mode()

    def _without_answer(self, data: str) -> str:
        """Take the terminal's answer out of `data`; what may be the beginning of it is held back."""
        self._held = ""
        if self._answer is None:
            return data
        if match := _PLACES.search(data):
            if not self._answer.done():
                row, rows, columns = map(int, match.groups())
                self._answer.set_result((row - 1, Size(rows, columns)))
            return data[: match.start()] + data[match.end() :]
        if match := _PART_OF_PLACES.search(data):
            self._held, data = match[0], data[: match.start()]
        return data

    def _taken(self) -> list[KeyPress]:
        taken = list(self._keys)
        self._keys.clear()
        return taken
