"""The prompt at the bottom of the terminal: where keys become messages, answers and cancels."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

from prompt_toolkit.application import Application, in_terminal, run_in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input.typeahead import store_typeahead
from prompt_toolkit.key_binding.vi_state import InputMode

from paicli.agent.events import TurnResult
from paicli.git import git_branch
from paicli.i18n import t
from paicli.text import clean
from paicli.ui import keys, statusbar
from paicli.ui.completer import PromptCompleter
from paicli.ui.history import ProjectHistory, history_file
from paicli.ui.ink import Ink
from paicli.ui.keyboard import Keyboard
from paicli.ui.paper import Paper
from paicli.ui.pastes import Pastes
from paicli.ui.pending import Typed
from paicli.ui.prompt import Prompt
from paicli.ui.question import Question
from paicli.ui.region import LiveRegion
from paicli.ui.resizing import InlineOutput
from paicli.ui.turns import Turns
from paicli.ui.window import Window

_FRAME = 1 / 15
"""Seconds between two redraws that a turn causes."""
_IDLE_FRAME = 0.2
_FIRST_KEYS = 0.05
"""Seconds after the first drawing in which keys that were typed ahead are shown, before anything is loaded."""
_ONCE_MORE = 2.0


class Desk:
    """Where the keys work: the prompt, its live region and its status bar."""

    def __init__(self, turns: Turns, ink: Ink) -> None:
        self._turns = turns
        self._terminal = turns.terminal
        self._ink = ink
        self.pastes = Pastes()
        self.escape = keys.Escape(self._esc)
        self._region = LiveRegion(self._terminal.renderer, self._terminal.pending, ink)
        self._left = self._closing = self._loading = False
        self._message = ""
        self._message_until = 0.0
        self._branch = git_branch(turns.actions.root)
        self._keyboard = Keyboard(sys.stdin, self.escape.was_none)
        self._output = InlineOutput.from_pty(sys.stdout, term=os.environ.get("TERM"))
        self._output.enable_cpr = False
        self._completer = PromptCompleter(turns.table, turns.actions)
        self._prompt = Prompt(
            self._live,
            self._status,
            lambda: self.dialog.words(f"{self.dialog.step}_label") if self.dialog else "",
            lambda: self.dialog.step if self.dialog else "",
            ProjectHistory(history_file(turns.actions.home, turns.actions.root)),
            self._completer,
            lambda: ink.theme,
        )
        self._app = self._prompt.application(
            keys.bindings(self), self._keyboard, self._output, vi=turns.actions.editing == "vi"
        )
        self._app.after_render += self._rendered
        self._paper = Paper(ink, self._output, self._terminal, self._app.catch_up)
        self.window = Window(self._output, turns.actions)
        turns.leave = self.leave
        turns.lend = self._lend
        turns.not_sent = self._give_back
        turns.turn_began = self._turn_began
        turns.turn_ended = self._turn_ended

    @property
    def dialog(self) -> Question[Any] | None:
        """The question that waits for the person, if any."""
        return self._region.dialog

    async def run(self, first_prompt: str, typed_ahead: str) -> None:
        """Show the prompt until the person leaves. `typed_ahead`: the first keys, already read."""
        store_typeahead(self._keyboard, self._keyboard.keys_of(typed_ahead))
        self._terminal.reviewer.attach(self._ask, self._asked)
        self.window.open()
        if first_prompt:
            self._turns.submit(first_prompt, first_prompt)
            self._prompt.message.history.append_string(first_prompt)
        painter = asyncio.create_task(self._paint())
        painter.add_done_callback(self._painter_ended)
        try:
            await self._app.run_async(pre_run=self._leave_if_asked)
        except (EOFError, OSError):
            pass  # the terminal is gone
        finally:
            self._terminal.reviewer.detach()
            await self._turns.stop()
            self._closing = True
            self._terminal.wake.set()
            await asyncio.wait([painter], timeout=1)
            with contextlib.suppress(OSError):
                await self._paper.flush()
                self.window.close()

    def send(self, buffer: Buffer) -> None:
        """Take the message that was written."""
        shown = clean(buffer.text).strip()
        if not shown:
            return
        whole = clean(self.pastes.whole(buffer.text)).strip()
        self._message = ""
        complaint = self._turns.submit(shown, whole)
        if complaint:
            self._remark(complaint)
            return
        buffer.history.append_string(whole)
        buffer.reset()
        self._app.vi_state.input_mode = InputMode.INSERT
        self.pastes = Pastes()

    def _turn_began(self) -> None:
        self._ink.warm_up()
        self.window.busy()

    def _turn_ended(self, _result: TurnResult) -> None:
        self._branch = git_branch(self._turns.actions.root)
        self.window.idle()

    def _give_back(self, waiting: list[Typed]) -> None:
        """Put messages that were not sent back into the prompt, before what stands there."""
        buffer = self._prompt.message
        text = "\n\n".join([*(message.sent for message in waiting), *filter(None, [buffer.text])])
        buffer.text = text
        buffer.cursor_position = len(text)

    def _esc(self) -> None:
        if self.dialog is None:
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
            self.pastes = Pastes()
        elif self._message == t("terminal.once_more") and time.monotonic() < self._message_until:
            self.leave()
        else:
            self._remark(t("terminal.once_more"))

    def leave(self) -> None:
        """End the program."""
        self._left = True
        if self._app.is_running and not self._app.is_done:
            self._app.exit()

    def _painter_ended(self, painter: asyncio.Task[None]) -> None:
        """A screen that is drawn no more is of no use: end with what went wrong."""
        error = None if painter.cancelled() else painter.exception()
        if error is not None and not self._app.is_done:
            self._app.exit(exception=error)

    def _leave_if_asked(self) -> None:
        """Leave at once when that was asked before the prompt was there."""
        if self._left:
            self._app.exit()

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
        return list(self._completer.get_completions(document, CompleteEvent()))

    def suspend(self) -> None:
        """Ctrl+Z: back to the shell until `fg`."""
        self._app.create_background_task(self._hand_over(lambda: run_in_terminal(_stop_ourselves)))

    def open_editor(self, buffer: Buffer) -> None:
        """Ctrl+X Ctrl+E: write the message in the person's editor."""
        self._app.create_background_task(self._hand_over(buffer.open_in_editor))

    async def _hand_over(self, to: Callable[[], Awaitable[None]]) -> None:
        """Give the terminal to another program, in the line mode that programs expect."""
        self._keyboard.stays_raw = False
        try:
            await to()
        finally:
            self._keyboard.stays_raw = True

    async def _lend(self, function: Callable[[], str]) -> str:
        """Run a function that talks with the person itself."""
        self._keyboard.stays_raw = False
        try:
            await self._paper.flush()
            async with in_terminal():
                return await asyncio.to_thread(function)
        finally:
            self._keyboard.stays_raw = True

    def _remark(self, text: str) -> None:
        """Show a short-lived line in place of the status bar."""
        self._message, self._message_until = text, time.monotonic() + _ONCE_MORE
        self._terminal.wake.set()

    def _ask(self, dialog: Question[Any]) -> None:
        size = self._output.get_size()
        self._region.dialog = dialog
        self.window.wants_person()
        self._region.body_is_above = False
        self._keep_question_whole(size.columns, size.rows)
        self._terminal.wake.set()

    def _asked(self, _dialog: Question[Any], _answer: object) -> None:
        self._region.dialog = None
        self._prompt.focus_message(self._app)
        self._terminal.wake.set()

    def _keep_question_whole(self, width: int, rows: int) -> None:
        """Put a question's body above when the region has no room to show all of it."""
        dialog = self.dialog
        if dialog is None or self._region.body_is_above:
            return
        if not self._region.fits(dialog.body, width, rows):
            self._region.body_is_above = True
            self._terminal.renderer.show(dialog.body)

    def _rendered(self, _app: Application[None]) -> None:
        if not self._loading:
            self._loading = True
            asyncio.get_running_loop().call_later(_FIRST_KEYS, self._turns.actions.load_ahead)
        dialog = self.dialog
        if dialog is None:
            return
        if not self._paper.is_behind():
            dialog.seen()
        entering = self._prompt.entry_has_focus(self._app)
        if dialog.step == "choose" and entering:
            self._prompt.focus_message(self._app)
            self._region.body_is_above = False
            self._terminal.wake.set()
        elif dialog.step != "choose" and not entering:
            self._prompt.focus_entry(self._app, dialog.text)
            self._app.invalidate()
            if dialog.wants_editor:
                self._app.create_background_task(self._edit_answer(dialog))

    async def _edit_answer(self, dialog: Question[Any]) -> None:
        """Let the person's editor change the entry line, and take what it left there."""
        dialog.wants_editor = False
        await self._hand_over(self._prompt.entry.open_in_editor)
        dialog.enter(self._prompt.entry.text)
        self._terminal.wake.set()

    def _live(self) -> StyleAndTextTuples:
        size = self._output.get_size()
        return self._region.fragments(size.columns, size.rows)

    def _status(self) -> StyleAndTextTuples:
        renderer, profile = self._terminal.renderer, self._turns.agent.client.profile
        status = statusbar.Status(
            mode=self._turns.agent.approval.mode.value,
            model=profile.model,
            folder=statusbar.short_folder(self._turns.actions.root),
            branch=self._branch,
            context_used=renderer.context_used,
            window=profile.context_window,
            total=renderer.total,
            cost=self._turns.actions.bill.text(),
            queued=len(self._terminal.pending),
            message=self._message if time.monotonic() < self._message_until else "",
        )
        return [*statusbar.bar(status, self._output.get_size().columns - 1)]

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
            size = self._output.get_size()
            self._keep_question_whole(size.columns, size.rows)
            await self._paper.flush()
            self._app.invalidate()
            await asyncio.sleep(_FRAME)


def _stop_ourselves() -> None:
    os.kill(0, signal.SIGTSTP)
