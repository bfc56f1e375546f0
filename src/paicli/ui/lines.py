"""The conversation in lines alone: for screen readers and for terminals that can do no more."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from paicli.i18n import t
from paicli.text import clean, one_line
from paicli.ui.asking import Asking, ask_in_thread
from paicli.ui.ink import Ink
from paicli.ui.pending import Typed
from paicli.ui.question import Question
from paicli.ui.shown import Said
from paicli.ui.turns import Turns

_ONCE_MORE = 2.0
_ESC, _CTRL_O = "\x1b", "\x0f"
"""The keys that the questions name, which here are lines as well."""


class Lines:
    """Reads lines and prints lines; the terminal itself edits them."""

    def __init__(self, turns: Turns, theme: str) -> None:
        self._turns = turns
        self._ink = Ink(os.environ, theme)
        turns.use_theme = self._ink.use_theme
        self._dialog: Question[Any] | None = None
        self._unfinished = b""
        self._continued: list[str] = []
        self._asked_at = float("-inf")
        self._prompt_is_there = False
        self._left = asyncio.Event()
        turns.leave = self._leave
        turns.lend = self._lend
        turns.not_sent = self._not_sent

    async def run(self, first_prompt: str) -> None:
        """Talk until the input ends or the person leaves."""
        loop, descriptor = asyncio.get_running_loop(), sys.stdin.fileno()
        self._turns.terminal.reviewer.attach(self._show, self._hide)
        loop.add_reader(descriptor, self._readable)
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        try:
            if first_prompt:
                self._turns.submit(first_prompt, first_prompt)
            while not self._left.is_set():
                self._print_ready()
                await self._turns.terminal.wake.wait()
                self._turns.terminal.wake.clear()
        finally:
            loop.remove_reader(descriptor)
            loop.remove_signal_handler(signal.SIGINT)
            self._turns.terminal.reviewer.detach()
            await self._turns.stop()
            self._turns.take_leave()
            with contextlib.suppress(OSError):
                self._print_ready()
                if self._prompt_is_there:
                    print()  # the shell's prompt begins a line

    def _readable(self) -> None:
        try:
            data = os.read(sys.stdin.fileno(), 65_536)
        except OSError:
            data = b""  # the terminal is gone
        if not data:
            self._leave()
            return
        *lines, self._unfinished = (self._unfinished + data).split(b"\n")
        for line in lines:
            self._prompt_is_there = False
            self._take(clean(line.decode("utf-8", "surrogateescape")))
        self._turns.terminal.wake.set()

    def _take(self, line: str) -> None:
        if self._dialog is not None:
            self._answer(self._dialog, line)
        elif line.endswith("\\"):
            self._continued.append(line[:-1])
        else:
            text = "\n".join([*self._continued, line]).strip()
            self._continued = []
            if text:
                self._submit(text)

    def _submit(self, text: str) -> None:
        waiting = self._turns.terminal.pending
        before = len(waiting)
        self._turns.submit(text, text)
        if len(waiting) > before:
            name = "queued_for_the_end" if waiting.waits_for_the_end() else "queued"
            self._print(t(f"terminal.{name}", text=one_line(text)))

    def _answer(self, dialog: Question[Any], line: str) -> None:
        if line.strip() == _ESC:
            dialog.refuse()
            return
        if dialog.step != "choose":
            dialog.enter(line or dialog.text)
            self._print(dialog.complaint)
            return
        before = dialog.body
        if line.strip() == _CTRL_O and dialog.unfold():
            self._turns.terminal.renderer.show(dialog.body)
            return
        dialog.line(line)
        if dialog.step != "choose":
            self._print(one_line(dialog.text), dialog.words(f"{dialog.step}_how"))
        elif dialog.body != before:
            self._turns.terminal.renderer.show(dialog.body)

    def _show(self, dialog: Question[Any]) -> None:
        self._turns.terminal.renderer.show(dialog.body)
        self._dialog = dialog
        self._print_ready()
        self._print(f"{dialog.words('question')}  {dialog.words('keys')}")
        dialog.seen()

    def _hide(self, _dialog: Question[Any], _answer: object) -> None:
        self._dialog = None
        self._turns.terminal.wake.set()

    async def _lend(self, function: Callable[[Asking], str]) -> str:
        """Run a function that talks with the person itself."""
        loop, descriptor = asyncio.get_running_loop(), sys.stdin.fileno()
        self._print_ready()
        loop.remove_reader(descriptor)
        try:
            return await ask_in_thread(function)
        finally:
            loop.add_reader(descriptor, self._readable)

    def _interrupt(self) -> None:
        if self._turns.is_busy:
            if self._dialog is not None:
                self._dialog.refuse()
            self._turns.cancel()
        elif time.monotonic() - self._asked_at < _ONCE_MORE:
            self._leave()
        else:
            self._asked_at = time.monotonic()
            self._continued = []
            self._print("", t("terminal.once_more"))
        self._turns.terminal.wake.set()

    def _leave(self) -> None:
        self._left.set()
        self._turns.terminal.wake.set()

    def _not_sent(self, waiting: list[Typed]) -> None:
        for typed in waiting:
            self._print(t("terminal.not_sent", text=one_line(typed.shown)))

    def _print_ready(self) -> None:
        width = os.get_terminal_size(sys.stdout.fileno()).columns or 80
        for value in self._turns.terminal.take_ready():
            if not isinstance(value, Said):
                self._print(*self._ink.lines(value, width - 1))
        idle = not self._turns.is_busy and self._dialog is None and not self._left.is_set()
        if idle and not self._prompt_is_there:
            sys.stdout.write("> ")
            sys.stdout.flush()
            self._prompt_is_there = True

    def _print(self, *lines: str) -> None:
        if self._prompt_is_there:
            sys.stdout.write("\r")
            self._prompt_is_there = False
        for line in filter(None, lines):
            try:
                sys.stdout.write(line + "\n")
            except UnicodeEncodeError:
                encoding = sys.stdout.encoding
                sys.stdout.write(line.encode(encoding, "replace").decode(encoding) + "\n")
        sys.stdout.flush()
