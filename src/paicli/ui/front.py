"""The prompt as it stands at once: drawn, and taking keys, before what is behind it is loaded.

Behind it is the desk, with the agent and all that a turn needs. It is opened when the first keys are on
the screen, or by the first key that cannot do without it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from typing import Any, Protocol

from prompt_toolkit.application import Application, run_in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input.typeahead import store_typeahead

from paicli.git import git_branch
from paicli.ui import keys, statusbar
from paicli.ui.first import FirstScreen, Room
from paicli.ui.history import ProjectHistory, history_file
from paicli.ui.keyboard import Keyboard
from paicli.ui.pastes import Pastes
from paicli.ui.prompt import Prompt
from paicli.ui.resizing import inline_output
from paicli.ui.theme import chosen
from paicli.ui.window import Window

_log = logging.getLogger(__name__)

_FIRST_KEYS = 0.05
"""Seconds after the first drawing in which keys that were typed ahead are shown, before anything is loaded."""

_MOST_FAILURES = 20
"""Keys that fail, and other surprises, before the program ends: the picture itself may be what fails."""


class Behind(keys.Works, Protocol):
    """The desk, as far as the prompt in front of it needs it."""

    @property
    def dialog(self) -> keys.Dialog | None: ...
    @property
    def theme(self) -> str: ...
    @property
    def completer(self) -> Completer: ...

    def escape(self) -> None: ...
    def live(self) -> StyleAndTextTuples: ...
    def status(self) -> statusbar.Status: ...
    def rendered(self) -> None: ...
    async def close(self) -> None: ...


class Front:
    """The prompt with its keys and its status bar.

    `open_desk` is called once, on the event loop.
    """

    def __init__(
        self, first: FirstScreen, room: Room, open_desk: Callable[[Front], Behind]
    ) -> None:
        self._room = room
        self._open_desk = open_desk
        self._desk: Behind | None = None
        self._opening: asyncio.Task[None] | None = None
        self._is_open = asyncio.Event()
        self._left = False
        self._failures = 0
        self._theme = chosen(os.environ, first.theme)
        self._first_status = statusbar.Status(
            mode=first.mode,
            model=first.model,
            folder=statusbar.short_folder(first.root),
            branch=git_branch(first.root),
        )
        self.pastes = Pastes()
        self.escape = keys.Escape(self._escaped)
        self.keyboard = Keyboard(sys.stdin, self.escape.was_none)
        self.output = inline_output()
        self.has_terminal = asyncio.Lock()
        """Held by who writes to the terminal beside the prompt, or reads from it."""
        self.window = Window(self.output, first.root, first.notify)
        self.prompt = Prompt(
            self._live,
            self._status,
            lambda: self.dialog.words(f"{self.dialog.step}_label") if self.dialog else "",
            lambda: self.dialog.step if self.dialog else "",
            ProjectHistory(history_file(first.home, first.root)),
            _CompleterBehind(self.when_open),
            lambda: self._desk.theme if self._desk else self._theme,
        )
        self.app = self.prompt.application(
            keys.bindings(self), self.keyboard, self.output, vi=first.editing == "vi"
        )
        self.app.after_render += self._rendered

    @property
    def desk(self) -> Behind:
        """The desk, opened if it is not yet."""
        if self._desk is None:
            self._desk = self._open_desk(self)
            self._is_open.set()
            self.app.invalidate()
        return self._desk

    async def when_open(self) -> Behind:
        """Wait for the desk."""
        await self._is_open.wait()
        return self.desk

    @property
    def dialog(self) -> keys.Dialog | None:
        """The question that waits for the person, if any."""
        return self._desk.dialog if self._desk else None

    async def run(self, typed_ahead: str, *, at_once: bool) -> None:
        """Show the prompt until the person leaves. `typed_ahead`: the first keys, already read.

        The desk is opened `at_once`, or when the prompt stands.
        """
        store_typeahead(self.keyboard, self.keyboard.keys_of(typed_ahead))
        self.window.open()
        if at_once:
            _ = self.desk
        try:
            asyncio.get_running_loop().set_exception_handler(self._failed)
            await self.app.run_async(pre_run=self._leave_if_asked, set_exception_handler=False)
        except (EOFError, OSError):
            pass  # the terminal is gone
        finally:
            if self._opening is not None:
                self._opening.cancel()
            if self._desk is not None:
                await self._desk.close()
            self.keyboard.drop_late_answer()
            with contextlib.suppress(OSError):
                self.window.close()

    def leave(self) -> None:
        """End the program."""
        self._left = True
        if self.app.is_running and not self.app.is_done:
            self.app.exit()

    def ended(self, task: asyncio.Task[None]) -> None:
        """A task is over that the program cannot do without: end with what went wrong, if something did."""
        error = None if task.cancelled() else task.exception()
        if error is not None and not self.app.is_done:
            self.app.exit(exception=error)

    def _failed(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log what failed where nobody waits for it, as some of prompt_toolkit's keys for vi can, and go on."""
        error = context.get("exception")
        _log.error("unexpected: %s", context.get("message"), exc_info=error)
        self._failures += 1
        if self._failures > _MOST_FAILURES and error is not None and not self.app.is_done:
            self.app.exit(exception=error)

    def suspend(self) -> None:
        """Ctrl+Z: back to the shell until `fg`."""
        self.app.create_background_task(self.hand_over(lambda: run_in_terminal(_stop_ourselves)))

    def open_editor(self, buffer: Buffer) -> None:
        """Ctrl+X Ctrl+E: write the message in the person's editor."""
        self.app.create_background_task(self.hand_over(buffer.open_in_editor))

    async def hand_over(self, to: Callable[[], Awaitable[None]]) -> None:
        """Give the terminal to another program, in the line mode that programs expect."""
        async with self.lent():
            await to()

    @contextlib.asynccontextmanager
    async def lent(self) -> AsyncGenerator[None, None]:
        """Keep away from the terminal and its window meanwhile."""
        async with self.has_terminal:
            self.keyboard.stays_raw = False
            self.window.close()
            try:
                yield
            finally:
                self.window.open()
                self.keyboard.stays_raw = True

    def _escaped(self) -> None:
        self.desk.escape()

    def _leave_if_asked(self) -> None:
        """Leave at once when that was asked before the prompt was there."""
        if self._left:
            self.app.exit()

    def _live(self) -> StyleAndTextTuples:
        return self._desk.live() if self._desk else []

    def _status(self) -> StyleAndTextTuples:
        status = self._desk.status() if self._desk else self._first_status
        return [*statusbar.bar(status, self.output.get_size().columns - 1)]

    def _rendered(self, _app: Application[None]) -> None:
        if self._opening is None:
            self._opening = asyncio.create_task(self._open_soon())
            self._opening.add_done_callback(self.ended)
        if self._desk is not None:
            self._desk.rendered()

    async def _open_soon(self) -> None:
        await asyncio.sleep(_FIRST_KEYS)
        if self._desk is None:
            await asyncio.to_thread(self._room.load)
            _ = self.desk
        self._room.load_ahead()


class _CompleterBehind(Completer):
    """Completes with what the desk knows, once it is open."""

    def __init__(self, when_open: Callable[[], Awaitable[Behind]]) -> None:
        self._when_open = when_open

    def get_completions(
        self,
        document: Document,  # noqa: ARG002  the signature is prompt_toolkit's
        complete_event: CompleteEvent,  # noqa: ARG002  the signature is prompt_toolkit's
    ) -> Iterable[Completion]:
        """Yield nothing: prompt_toolkit asks for them below, where they can be waited for."""
        return ()

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        """Yield what could stand at the cursor."""
        desk = await self._when_open()
        async for completion in desk.completer.get_completions_async(document, complete_event):
            yield completion


def _stop_ourselves() -> None:
    os.kill(0, signal.SIGTSTP)
