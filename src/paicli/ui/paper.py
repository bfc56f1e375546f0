"""What stands above the prompt: written once, in order, and never touched again."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from prompt_toolkit.application import in_terminal
from prompt_toolkit.output import Output

from paicli.display import Code, Diff, Note
from paicli.ui.ink import Ink
from paicli.ui.shown import Answer, Looked, PlanLine, Shown, Unfolded, Worked
from paicli.ui.terminal import Terminal

_REMEMBERED = 20
_TOOL_ENTRIES = (Worked, Looked, Diff, Code)


class Paper:
    """Writes what is ready above the prompt, and remembers what could be unfolded."""

    def __init__(
        self,
        ink: Ink,
        output: Output,
        terminal: Terminal,
        before_writing: Callable[[], Awaitable[None]],
    ) -> None:
        self._before_writing = before_writing
        self._ink = ink
        self._output = output
        self._terminal = terminal
        self._last: Shown | None = None
        self._foldable: deque[Shown] = deque(maxlen=_REMEMBERED)

    def is_behind(self) -> bool:
        """Tell whether something waits to be written."""
        return self._terminal.has_ready()

    async def flush(self) -> None:
        """Write all that is ready, with one switch away from the prompt and back."""
        ready = self._terminal.take_ready()
        if not ready:
            return
        width = self._output.get_size().columns
        lines: list[str] = []
        for value in ready:
            lines += self._entry(value, width)
            await asyncio.sleep(0)  # keys come between two entries
        text = "\r\n".join(lines)
        await self._before_writing()
        async with in_terminal():
            self._output.write_raw(text + "\r\n")
            self._output.flush()

    def unfold(self) -> bool:
        """Write the newest shortened entry in full, the next time the one before; False without any."""
        if not self._foldable:
            return False
        self._terminal.commit(Unfolded(self._foldable.pop()))
        return True

    def _entry(self, value: Shown, width: int) -> list[str]:
        lines = self._ink.lines(value, width)
        if self._ink.is_shortened(value, width):
            self._foldable.append(value)
        gap = self._needs_gap(value)
        self._last = value
        return ["", *lines] if gap else lines

    def _needs_gap(self, value: Shown) -> bool:
        if isinstance(value, Answer):
            return not (value.tight and isinstance(self._last, Answer))
        if isinstance(value, Note):
            return not isinstance(self._last, Note)
        if isinstance(value, PlanLine):
            return not isinstance(self._last, PlanLine)
        if isinstance(value, _TOOL_ENTRIES):
            return not isinstance(self._last, _TOOL_ENTRIES)
        return True
