"""The conversation at the terminal: one prompt that is always there, turns that come and go."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Sequence

from prompt_toolkit.application import Application, run_in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.output.defaults import create_output
from prompt_toolkit.output.vt100 import Vt100_Output

from paicli.agent.events import TurnResult
from paicli.display import Display, Note
from paicli.errors import ConfigError, PaiCliError
from paicli.i18n import t
from paicli.llm.messages import Usage
from paicli.policy.approval import Verdict
from paicli.secrets import redact
from paicli.text import clean
from paicli.ui import commands, keys, mentions, statusbar
from paicli.ui.actions import Actions, RunsTurns
from paicli.ui.approval import Dialog
from paicli.ui.completer import PromptCompleter
from paicli.ui.history import ProjectHistory, history_file
from paicli.ui.ink import Ink
from paicli.ui.keyboard import Keyboard
from paicli.ui.paper import Paper
from paicli.ui.pastes import Pastes
from paicli.ui.pending import Typed
from paicli.ui.prompt import Prompt
from paicli.ui.region import LiveRegion
from paicli.ui.shown import Asked, Said
from paicli.ui.terminal import Terminal
from paicli.ui.welcome import welcome

_log = logging.getLogger(__name__)
_FRAME = 1 / 15
"""Seconds between two redraws that a turn causes."""
_IDLE_FRAME = 0.2
_ONCE_MORE = 2.0
_LAST_WAIT = 5.0
"""Seconds that a cancelled run gets to end its processes when the person leaves."""


async def run_repl(
    agent: RunsTurns,
    actions: Actions,
    terminal: Terminal,
    first_prompt: str = "",
    *,
    more_commands: Sequence[commands.Command] = (),
    notices: Sequence[Note] = (),
) -> int:
    """Talk with the person until they leave; return the exit code of the program.

    The agent emits to `terminal.on_event` and asks `terminal.reviewer`. `more_commands` are the
    rooms' own; `notices` are shown under the first screen. Raises ConfigError without a terminal.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ConfigError(t("terminal.needs_terminal"))
    repl = _Repl(agent, actions, terminal, more_commands)
    return await repl.run(first_prompt, notices)


class _Repl:
    """The desk that the keys work at, and the screen that commands speak to."""

    def __init__(
        self,
        agent: RunsTurns,
        actions: Actions,
        terminal: Terminal,
        more_commands: Sequence[commands.Command],
    ) -> None:
        self._agent = agent
        self._actions = actions
        self._terminal = terminal
        self._ink = Ink(os.environ)
        self.pastes = Pastes()
        self.escape = keys.Escape(self._esc)
        self._region = LiveRegion(terminal.renderer, terminal.pending, self._ink)
        self._table = commands.CommandTable([*commands.BUILT_IN, *more_commands])
        self._setting = commands.Setting(self, agent, actions, self._table)
        self._run: asyncio.Task[TurnResult] | None = None
        self._turns: asyncio.Task[None] | None = None
        self._command: asyncio.Task[None] | None = None
        self._message = ""
        self._message_until = 0.0
        self._branch = statusbar.git_branch(actions.root)
        self._keyboard = Keyboard(sys.stdin, self.escape.was_none)
        self._output = create_output(sys.stdout)
        if isinstance(self._output, Vt100_Output):
            self._output.enable_cpr = False
        self._prompt = Prompt(
            self._live,
            self._status,
            lambda: t(f"approval.{self.dialog.step}_label") if self.dialog else "",
            lambda: self.dialog.step if self.dialog else "",
            ProjectHistory(history_file(actions.home, actions.root)),
            PromptCompleter(self._table, actions),
        )
        self._app: Application[None] = self._prompt.application(
            keys.bindings(self), self._keyboard, self._output
        )
        self._app.after_render += self._rendered
        self._paper = Paper(self._ink, self._output, terminal)

    @property
    def dialog(self) -> Dialog | None:
        """The question that waits for the person, if any."""
        return self._region.dialog

    async def run(self, first_prompt: str, notices: Sequence[Note]) -> int:
        """Show the prompt until the person leaves."""
        profile = self._agent.client.profile
        folder = statusbar.short_folder(self._actions.root)
        width = self._output.get_size().columns
        mode = self._agent.approval.mode.value
        print(
            welcome(profile.model, folder, mode, width, plain=self._ink.plain), end="", flush=True
        )
        self.say(*notices)
        self._terminal.reviewer.attach(self._ask, self._asked)
        self._terminal.pending.when_taken(lambda typed: self.say_typed(typed.shown))
        if first_prompt.strip():
            self._submit(clean(first_prompt), clean(first_prompt))
        painter = asyncio.create_task(self._paint())
        try:
            await self._app.run_async()
        except EOFError:
            pass
        finally:
            self._terminal.reviewer.detach()
            await self._stop_turns()
            painter.cancel()
            await self._paper.flush()
        return 0

    def say(self, *what: Display) -> None:
        """Show something above the prompt."""
        for value in what:
            self._terminal.renderer.show(value)

    def say_typed(self, text: str) -> None:
        """Show what the person sent."""
        self._terminal.renderer.show(Said(redact(text)))

    def forget_conversation(self) -> None:
        """Start counting the context and the tokens anew."""
        self._terminal.renderer.forget_conversation()

    def usage(self) -> tuple[int, Usage]:
        """Return the tokens in the context, and those used since the conversation began."""
        return self._terminal.renderer.context_used, self._terminal.renderer.total

    def send(self, buffer: Buffer) -> None:
        """Take the message that was written."""
        shown = clean(buffer.text).strip()
        if not shown:
            return
        whole = clean(self.pastes.whole(buffer.text)).strip()
        self._message = ""
        if self._submit(shown, whole):
            buffer.history.append_string(whole)
            buffer.reset()
            self.pastes = Pastes()

    def _submit(self, shown: str, whole: str) -> bool:
        """Run a command, start a turn or queue a message; False when it cannot be taken now."""
        what = self._table.parse(whole)
        if isinstance(what, commands.Unknown):
            self.say_typed(shown)
            self.say(Note(commands.unknown_text(what), "error"))
        elif isinstance(what, commands.Call):
            if self._is_busy() and not what.command.during_task:
                self._remark(t("terminal.not_during_task", name=what.command.name))
                return False
            self.say_typed(shown)
            self._command = asyncio.create_task(self._run_command(what))
        else:
            typed = Typed(shown, whole)
            if self._is_busy():
                self._terminal.pending.add(typed)
                self._terminal.wake.set()
            else:
                self._turns = asyncio.create_task(self._take_turns(typed))
        return True

    async def _run_command(self, call: commands.Call) -> None:
        try:
            await call.command.run(self._setting, call.argument)
        except PaiCliError as error:
            self.say(Note(str(error), "error"))
        except Exception:  # noqa: BLE001  an edge: a bug becomes one line, its traceback goes to the log
            _log.exception("command /%s", call.command.name)
            self.say(Note(t("terminal.bug"), "error"))

    async def _take_turns(self, typed: Typed) -> None:
        """Run a turn, and then one for what was typed meanwhile and the agent did not take."""
        waiting = [typed]
        while waiting:
            for message in waiting:
                self.say_typed(message.shown)
            whole = "\n\n".join(message.sent for message in waiting)
            result = await self._one_turn(whole)
            self._branch = statusbar.git_branch(self._actions.root)
            waiting = self._terminal.pending.take_all_back()
            if waiting and result.status != "done":
                self._give_back(waiting)
                return

    async def _one_turn(self, whole: str) -> TurnResult:
        self._terminal.renderer.start_turn()
        self._ink.warm_up()
        result = TurnResult("error", error=t("terminal.bug"), exit_code=1)
        try:
            sent = await asyncio.to_thread(mentions.attached, whole, self._actions.root)
            self._run = asyncio.create_task(self._agent.run(sent, submitted=whole))
            result = await self._run
        except asyncio.CancelledError:
            result = TurnResult("cancelled", exit_code=130)
        except Exception:  # noqa: BLE001  an edge: a bug becomes one line, its traceback goes to the log
            _log.exception("a turn ended with a bug")
        finally:
            self._run = None
            self._terminal.renderer.end_turn(result)
        return result

    def _give_back(self, waiting: list[Typed]) -> None:
        """Put messages that were not sent back into the prompt, before what stands there."""
        buffer = self._prompt.message
        text = "\n\n".join([*(message.sent for message in waiting), *filter(None, [buffer.text])])
        buffer.text = text
        buffer.cursor_position = len(text)

    def _is_busy(self) -> bool:
        return self._turns is not None and not self._turns.done()

    def _cancel_run(self) -> None:
        if self._run is not None:
            self._run.cancel()

    def _esc(self) -> None:
        if self.dialog is None:
            self._cancel_run()
        elif self.dialog.step == "choose":
            self.dialog.key("\x1b")
        else:
            self.dialog.refuse()

    def interrupt(self, buffer: Buffer) -> None:
        """Ctrl+C: stop the run, else clear the line, else leave at the second time."""
        if self._is_busy():
            if self.dialog is not None:
                self.dialog.refuse()
            self._cancel_run()
        elif buffer.text:
            buffer.reset()
            self.pastes = Pastes()
        elif self._message == t("terminal.once_more") and time.monotonic() < self._message_until:
            self.leave()
        else:
            self._remark(t("terminal.once_more"))

    def leave(self) -> None:
        """End the program."""
        if self._app.is_running and not self._app.is_done:
            self._app.exit()

    def cycle_mode(self) -> None:
        """Shift+Tab: the next mode, from the next call on."""
        approval = self._agent.approval
        approval.mode = approval.mode.next()
        self._remark(t(f"terminal.mode_{approval.mode}_means"))

    def unfold(self) -> None:
        """Ctrl+O: show the last shortened entry in full."""
        if not self._paper.unfold():
            self._remark(t("terminal.nothing_folded"))

    def edit_queued(self, buffer: Buffer) -> bool:
        """Arrow up on an empty line: take the newest queued message back; False when there is none."""
        typed = self._terminal.pending.take_back()
        if typed is None:
            return False
        buffer.text = typed.sent
        buffer.cursor_position = len(typed.sent)
        return True

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

    def _remark(self, text: str) -> None:
        """Show a short-lived line in place of the status bar."""
        self._message, self._message_until = text, time.monotonic() + _ONCE_MORE
        self._terminal.wake.set()

    def _ask(self, dialog: Dialog) -> None:
        size = self._output.get_size()
        self._region.dialog = dialog
        self._region.body_is_above = False
        self._keep_question_whole(size.columns, size.rows)
        self._terminal.wake.set()

    def _asked(self, _dialog: Dialog, _verdict: Verdict | None) -> None:
        self._region.dialog = None
        self._prompt.focus_message(self._app)
        self._terminal.wake.set()

    def _keep_question_whole(self, width: int, rows: int) -> None:
        """Put a question's body above when the region has no room to show all of it."""
        dialog = self.dialog
        if dialog is not None and not self._region.body_is_above:
            body = Asked(dialog.request)
            if not self._region.fits(body, width, rows):
                self._region.body_is_above = True
                self._terminal.renderer.show(body)

    def _rendered(self, _app: Application[None]) -> None:
        dialog = self.dialog
        if dialog is None:
            return
        if not self._paper.is_behind():
            dialog.seen()
        if dialog.step != "choose" and not self._prompt.entry_has_focus(self._app):
            self._prompt.focus_entry(self._app, dialog.text)
            self._app.invalidate()

    def _live(self) -> StyleAndTextTuples:
        size = self._output.get_size()
        return self._region.fragments(size.columns, size.rows)

    def _status(self) -> StyleAndTextTuples:
        renderer, profile = self._terminal.renderer, self._agent.client.profile
        status = statusbar.Status(
            mode=self._agent.approval.mode.value,
            model=profile.model,
            folder=statusbar.short_folder(self._actions.root),
            branch=self._branch,
            context_used=renderer.context_used,
            window=profile.context_window,
            total=renderer.total,
            cost=self._actions.cost(renderer.total),
            queued=len(self._terminal.pending),
            message=self._message if time.monotonic() < self._message_until else "",
        )
        return [*statusbar.bar(status, self._output.get_size().columns - 1)]

    async def _paint(self) -> None:
        """Keep the screen up to date: at most one redraw a frame, whatever happens how fast."""
        wake = self._terminal.wake
        while True:
            moving = self._is_busy() or time.monotonic() < self._message_until
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

    async def _stop_turns(self) -> None:
        if self._turns is not None:
            self._cancel_run()
            self._terminal.pending.take_all_back()
            await asyncio.wait([self._turns], timeout=_LAST_WAIT)


def _stop_ourselves() -> None:
    os.kill(0, signal.SIGTSTP)
