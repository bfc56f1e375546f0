"""The live region as prompt_toolkit draws it: what is in motion, a question to the person, the queue."""

from __future__ import annotations

import time
from typing import Any

from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text

from paicli.i18n import t
from paicli.text import cut, one_line, wrapped_between
from paicli.text import width as cells
from paicli.ui import live
from paicli.ui.ink import Ink
from paicli.ui.pending import PendingInput
from paicli.ui.question import Question
from paicli.ui.render import Renderer
from paicli.ui.shown import Answer, Shown
from paicli.ui.words import tool_word

MOST_LINES = 14
_MOST_QUEUED = 3
_DRAWN_TAIL = 4_000
_OTHER_LINES = 6
"""Lines that the question, the prompt and the status bar need beside a dialog's body."""


class LiveRegion:
    """Draws itself anew at every call from the state of the turn."""

    def __init__(self, renderer: Renderer, pending: PendingInput, ink: Ink) -> None:
        self._renderer = renderer
        self._pending = pending
        self._ink = ink
        self.dialog: Question[Any] | None = None
        self.body_is_above = False
        """The question's body was too long for the region and stands above it."""
        self.most_lines = MOST_LINES
        """What is in motion takes no more, lest folding at half the width pushes it out of the screen."""

    def fits(self, value: Shown, width: int, rows: int) -> bool:
        """Tell whether `value` can be shown whole in the region."""
        return len(self._ink.lines(value, width)) + _OTHER_LINES <= rows

    def fragments(self, width: int, rows: int) -> StyleAndTextTuples:
        """Return the region for a screen of this size; each line fits the width."""
        room = max(min(self.most_lines, rows // 3, rows - _OTHER_LINES), 1)
        if self.dialog is not None:
            lines = self._question(self.dialog, width)
        elif self._renderer.busy_since is not None:
            lines = self._motion(width, room)
        else:
            lines = []
        lines += self._queue(width)
        result: StyleAndTextTuples = []
        for line in lines:
            result.append(("", "\n"))
            result.extend(line)
        return result

    def _motion(self, width: int, room: int) -> list[StyleAndTextTuples]:
        renderer, now = self._renderer, time.monotonic()
        lines: list[StyleAndTextTuples] = []
        tail = renderer.answer_tail.source
        if tail and len(tail) <= _DRAWN_TAIL:
            lines = self._ansi(self._ink.lines(Answer(tail), width - 1)[-room:])
        elif tail:
            lines = [[("", line)] for line in live.tail_lines(tail, width - 1, room)]
        reads = live.reads_line(renderer)
        if reads is not None:
            lines += self._ansi(self._ink.lines(reads, width - 1))
        for tool in list(renderer.tools.values())[:4]:
            word = tool_word(tool.name)
            lines += [[*line] for line in live.tool_lines(width - 1, room, word, tool)]
        lines += [[("class:live.tool", line)] for line in renderer.plan.lines(width - 1)]
        if not tail:
            lines += [[*line] for line in live.thinking_lines(renderer, width, room)]
        if tail:
            lines = [*lines[-room + 1 :], []]
        return [*lines[-room:], [*live.status_line(renderer, now, width - 1)]]

    def _question(self, dialog: Question[Any], width: int) -> list[StyleAndTextTuples]:
        lines: list[StyleAndTextTuples] = []
        if not self.body_is_above:
            lines = self._ansi(self._ink.lines(dialog.body, width))
            lines.append([])
        if dialog.complaint:
            lines.append([("class:complaint", cut(dialog.complaint, width))])
        if dialog.step == "choose":
            question, keys = dialog.words("question"), dialog.words("keys")
            lines.append([("class:ask", question)])
            if cells(question) + cells(keys) + 2 <= width:
                lines[-1].append(("class:dim", f"  {keys}"))
            else:
                lines += [
                    [("class:dim", piece)] for piece in wrapped_between(keys, " · ", width - 1)
                ]
        else:
            lines.append([("class:dim", cut(dialog.words(f"{dialog.step}_how"), width - 1))])
        return lines

    def _queue(self, width: int) -> list[StyleAndTextTuples]:
        waiting = self._pending.shown()
        lines: list[StyleAndTextTuples] = [
            [("class:live.queued", cut(f"⏎ {one_line(text)}", width - 1))]
            for text in waiting[-_MOST_QUEUED:]
        ]
        if waiting:
            name = "queued_command_hint" if self._pending.waits_for_the_end() else "queued_hint"
            lines.append([("class:dim", cut(f"  {t(f'terminal.{name}')}", width - 1))])
        return lines

    def _ansi(self, lines: list[str]) -> list[StyleAndTextTuples]:
        return [[*to_formatted_text(ANSI(line))] for line in lines]
