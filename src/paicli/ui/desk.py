"""The desk behind the prompt: where messages are taken, answers given and runs stopped, and what they show."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable
from typing import Any

from prompt_toolkit.application import in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completion, ThreadedCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding.vi_state import InputMode

from paicli.agent.events import TurnResult
from paicli.display import Note
from paicli.git import git_branch
from paicli.i18n import t
from paicli.text import clean, one_line
from paicli.ui.asking import Asking, ask_in_thread
from paicli.ui.completer import PromptCompleter
from paicli.ui.front import Front
from paicli.ui.ink import Ink
from paicli.ui.paper import Paper
from paicli.ui.pastes import Pastes
from paicli.ui.pending import Typed
from paicli.ui.question import Question
from paicli.ui.region import MOST_LINES, LiveRegion
from paicli.ui.statusbar import Status, short_folder
from paicli.ui.turns import Turns

_FRAME = 1 / 15
"""Seconds between two redraws that a turn causes."""
_IDLE_FRAME = 0.2
_ONCE_MORE = 2.0
_OTHER_ROWS = 2
"""Rows of the picture beside what is in motion that are folded, too."""


class Desk:
    """Where the keys work: the prompt, its live region and its status bar."""

    def __init__(self, front: Front, turns: Turns, theme: str) -> None:
        self._front = front
        self._turns = turns
        self._terminal = turns.terminal
        self._ink = ink = Ink(os.environ, theme)
        self._region = LiveRegion(self._terminal.renderer, self._terminal.pending, ink)
        self._closing = False
        self._message = ""
        self._message_until = 0.0
        self._branch = git_branch(turns.actions.root)
        self._commands = PromptCompleter(turns.table, turns.actions)
        self.completer = ThreadedCompleter(self._commands)
        self._paper = Paper(ink, front.output, self._terminal, self._before_writing)
        front.app.resized = self._terminal.wake.set
        turns.use_theme = ink.use_theme
        turns.leave = front.leave
        turns.lend = self._lend
        turns.not_sent = self._give_back
        turns.turn_began = self._turn_began
        turns.turn_ended = self._turn_ended
        self._terminal.reviewer.attach(self._ask, self._asked)
        self._painter = asyncio.create_task(self._paint())
        self._painter.add_done_callback(front.ended)

    @property
    def dialog(self) -> Question[Any] | None:
        """The question that waits for the person, if any."""
        return self._region.dialog

    @property
    def theme(self) -> str:
        """The theme that is drawn in."""
        return self._ink.theme

    def submit_first(self, text: str) -> None:
        """Take the message that the command line brought."""
        self._turns.submit(text, text)
        self._front.prompt.message.history.append_string(text)

    async def close(self) -> None:
        """Stop what runs, and show the last of it."""
        self._terminal.reviewer.detach()
        await self._turns.stop()
        self._turns.take_leave()
        self._closing = True
        self._terminal.wake.set()
        await asyncio.wait([self._painter], timeout=1)
        with contextlib.suppress(OSError):
            await self._paper.flush()

    def send(self, buffer: Buffer) -> None:
        """Take the message that was written."""
        shown = clean(buffer.text).strip()
        if not shown:
            return
        whole = clean(self._front.pastes.whole(buffer.text)).rstrip()
        self._message = ""
        self._turns.submit(shown, whole.lstrip())
        buffer.history.append_string(whole)
        buffer.reset()
        self._front.app.vi_state.input_mode = InputMode.INSERT
        self._front.pastes = Pastes()

    def _turn_began(self) -> None:
        self._ink.warm_up()
        self._front.window.busy()

    def _turn_ended(self, _result: TurnResult) -> None:
        self._branch = git_branch(self._turns.actions.root)
        self._front.window.idle()

    def _give_back(self, waiting: list[Typed]) -> None:
        """Put messages that were not sent back into the prompt, before what stands there.

        A command among others would become a part of a message: it is only told.
        """
        buffer = self._front.prompt.message
        if len(waiting) > 1 or buffer.text:
            commands = [typed for typed in waiting if typed.is_command]
            waiting = [typed for typed in waiting if not typed.is_command]
            for typed in commands:
                self._turns.say(Note(t("terminal.not_sent", text=one_line(typed.shown)), "warning"))
        text = "\n\n".join([*(message.sent for message in waiting), *filter(None, [buffer.text])])
        buffer.text = text
        buffer.cursor_position = len(text)

    def escape(self) -> None:
        """Esc alone: stop the run and close the list of completions, or answer no."""
        if self.dialog is None:
            if self._front.prompt.message.complete_state:
                self._front.prompt.message.cancel_completion()
                self._front.app.invalidate()
            self._turns.cancel()
        elif self.dialog.step == "choose":
            self.dialog.key("\x1b")
        else:
            self.dialog.refuse()

    def interrupt(self, buffer: Buffer) -> None:
        """Ctrl+C: stop the run, else clear the line, else leave at the second time."""
        if self._turns.is_busy:
            if self.dialog is not None:
                self.dialog.refuse()
            self._turns.cancel()
        elif buffer.text:
            buffer.reset()
            self._front.pastes = Pastes()
        elif self._message == t("terminal.once_more") and time.monotonic() < self._message_until:
            self._front.leave()
        else:
            self._remark(t("terminal.once_more"))

    def cycle_mode(self) -> None:
        """Shift+Tab: the next mode, from the next call on."""
        approval = self._turns.agent.approval
        approval.mode = approval.mode.next()
        self._remark(t(f"terminal.mode_{approval.mode}_means"))

    def unfold(self) -> None:
        """Ctrl+O: show all of what is asked about, or the last shortened entry in full."""
        if self.dialog is not None and self.dialog.unfold():
            self._region.body_is_above = False
            self._terminal.wake.set()
        elif not self._paper.unfold():
            self._remark(t("terminal.nothing_folded"))

    def edit_queued(self, buffer: Buffer) -> bool:
        """Arrow up on an empty line: take the newest queued message back; False when there is none."""
        typed = self._terminal.pending.take_back()
        if typed is None:
            return False
        buffer.text = typed.sent
        buffer.cursor_position = len(typed.sent)
        return True

    def commands_at(self, document: Document) -> list[Completion]:
        """Return the commands that could stand at the cursor, at once."""
        if self.dialog is not None or not document.text.startswith("/"):
            return []
        return list(self._commands.get_completions(document, CompleteEvent()))

    async def _lend(self, function: Callable[[Asking], str]) -> str:
        """Run a function that talks with the person itself."""
        async with self._front.lent():
            await self._paper.flush()
            async with in_terminal():
                return await ask_in_thread(function)

    def _remark(self, text: str) -> None:
        """Show a short-lived line in place of the status bar."""
        self._message, self._message_until = text, time.monotonic() + _ONCE_MORE
        self._terminal.wake.set()

    def _ask(self, dialog: Question[Any]) -> None:
        size = self._front.output.get_size()
        self._region.dialog = dialog
        self._front.window.wants_person()
        self._region.body_is_above = False
        self._keep_question_whole(size.columns, size.rows)
        self._terminal.wake.set()

    def _asked(self, _dialog: Question[Any], _answer: object) -> None:
        self._region.dialog = None
        self._front.prompt.focus_message(self._front.app)
        self._terminal.wake.set()

    def _keep_question_whole(self, width: int, rows: int) -> None:
        """Put a question's body above when the region has no room to show all of it."""
        dialog = self.dialog
        if dialog is None or self._region.body_is_above:
            return
        if not self._region.fits(dialog.body, width, rows):
            self._region.body_is_above = True
            self._terminal.renderer.show(dialog.body)

    def rendered(self) -> None:
        """The prompt has been drawn: a question counts as seen, and its entry line takes the keys."""
        dialog = self.dialog
        if dialog is None:
            return
        if not self._paper.is_behind():
            dialog.seen()
        entering = self._front.prompt.entry_has_focus(self._front.app)
        if dialog.step == "choose" and entering:
            self._front.prompt.focus_message(self._front.app)
            self._region.body_is_above = False
            self._terminal.wake.set()
        elif dialog.step != "choose" and not entering:
            self._front.prompt.focus_entry(self._front.app, dialog.text)
            self._front.app.invalidate()
            if dialog.wants_editor:
                self._front.app.create_background_task(self._edit_answer(dialog))

    async def _edit_answer(self, dialog: Question[Any]) -> None:
        """Let the person's editor change the entry line, and take what it left there."""
        dialog.wants_editor = False
        await self._front.hand_over(self._front.prompt.entry.open_in_editor)
        dialog.enter(self._front.prompt.entry.text)
        self._terminal.wake.set()

    def live(self) -> StyleAndTextTuples:
        """Return what is in motion, as the prompt draws it."""
        size = self._front.output.get_size()
        return self._region.fragments(size.columns - self._front.app.spare(), size.rows)

    def status(self) -> Status:
        """Return what the status bar tells."""
        renderer, profile = self._terminal.renderer, self._turns.agent.client.profile
        return Status(
            mode=self._turns.agent.approval.mode.value,
            model=profile.model,
            folder=short_folder(self._turns.actions.root),
            branch=self._branch,
            context_used=self._turns.agent.context_used(),
            window=profile.context_window,
            input=renderer.total.input,
            output=renderer.total.output,
            cost=self._turns.actions.bill.text(),
            queued=len(self._terminal.pending),
            message=self._message if time.monotonic() < self._message_until else "",
        )

    async def _paint(self) -> None:
        """Keep the screen up to date: at most one redraw a frame, whatever happens how fast."""
        wake = self._terminal.wake
        while not self._closing:
            moving = self._turns.is_busy or time.monotonic() < self._message_until
            try:
                await asyncio.wait_for(wake.wait(), _IDLE_FRAME if moving else None)
            except TimeoutError:
                pass
            wake.clear()
            async with self._front.has_terminal:
                await self._before_writing()
                size = self._front.output.get_size()
                self._keep_question_whole(size.columns, size.rows)
                await self._paper.flush()
                self._front.app.draw()
                if await self._look_at_window():
                    self._front.app.was_late()
                    wake.set()
            await asyncio.sleep(_FRAME)

    async def _before_writing(self) -> None:
        await self._look_at_window()
        self._front.app.seen()
        self._front.app.catch_up()

    async def _look_at_window(self) -> bool:
        """Learn the window's size where nobody tells of it in time; tell whether it has changed."""
        app, output = self._front.app, self._front.output
        if not (app.is_tmux and app.is_drawn and app.is_running):
            return False
        answer = await self._front.keyboard.answer(output.ask)
        before, output.told = output.told, None
        if answer is None:
            return False
        row, output.told = answer
        self._region.most_lines = min(max(app.rows_above(row) - _OTHER_ROWS, 2), MOST_LINES)
        return output.told != before
