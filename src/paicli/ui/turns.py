"""What the person sends, taken one by one: commands, turns, and what waits for its turn."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from paicli.agent.events import ToolCalled, ToolFinished, ToolProgress, ToolStarted, TurnResult
from paicli.display import Display, Note
from paicli.errors import PaiCliError
from paicli.i18n import t
from paicli.llm.messages import Message, Usage
from paicli.secrets import redact
from paicli.tools.base import Tell, ToolOutput, ToolResult
from paicli.tools.results import wrap
from paicli.ui import commands, mentions
from paicli.ui.actions import Actions, RunsTurns, RunTurn
from paicli.ui.asking import Asking, ask_in_thread
from paicli.ui.pending import Typed
from paicli.ui.recap import recap
from paicli.ui.shown import Said
from paicli.ui.terminal import Terminal

_log = logging.getLogger(__name__)
RunOwn = Callable[[str, Tell], Awaitable[ToolOutput]]
_OWN = "own"
"""The id of a call that the person made, not the model."""
_GOES_ON = ("done", "cancelled")
"""The endings of a turn behind which waiting messages are sent: what waits then was typed after the stop."""
_LAST_WAIT = 5.0
"""Seconds that a cancelled run gets to end its processes when the person leaves."""


class Turns:
    """Runs the agent, one turn at a time, and answers commands; is the screen that they speak to.

    `leave` ends the program. `lend` gives the terminal to a function that talks with the person. `use_theme` changes the colours. `not_sent` gets the messages that a run which failed or was stopped
    left waiting. `turn_began` and `turn_ended` are told of each.
    """

    def __init__(
        self,
        agent: RunsTurns,
        actions: Actions,
        terminal: Terminal,
        more_commands: Sequence[commands.Command],
    ) -> None:
        self.agent = agent
        self.actions = actions
        self.terminal = terminal
        self.table = commands.CommandTable([*commands.BUILT_IN, *more_commands])
        self.leave: Callable[[], None] = lambda: None
        self.lend: Callable[[Callable[[Asking], str]], Awaitable[str]] = ask_in_thread
        self.use_theme: Callable[[str], None] = lambda _: None
        self.not_sent: Callable[[list[Typed]], None] = lambda _: None
        self.turn_began: Callable[[], None] = lambda: None
        self.turn_ended: Callable[[TurnResult], None] = lambda _: None
        self._setting = commands.Setting(self, agent, actions, self.table)
        self._run: asyncio.Future[Any] | None = None
        self._seen_by_model: list[str] = []
        self._turns: asyncio.Task[None] | None = None
        self._command: asyncio.Task[None] | None = None
        terminal.pending.when_taken(lambda typed: self._echo(typed.shown))

    @property
    def is_busy(self) -> bool:
        """Whether a turn runs."""
        return self._turns is not None and not self._turns.done()

    def submit(self, shown: str, whole: str) -> None:
        """Run a command or start a turn; while one runs, let what cannot run beside it wait."""
        what, own = self.table.parse(whole), self._own_command(whole)
        if own is not None and not own[0]:
            return  # there is nothing to run yet
        if isinstance(what, commands.Unknown):
            self._echo(shown)
            self.say(Note(commands.unknown_text(what), "error"))
        elif isinstance(what, commands.Call) and what.command.during_task:
            self._echo(shown)
            self._command = asyncio.create_task(self._run_command(what))
        elif self.is_busy:
            self.terminal.pending.add(Typed(shown, whole, what is not None or own is not None))
            self.terminal.wake.set()
        else:
            self._start(self._begin(Typed(shown, whole)))

    async def _begin(self, typed: Typed) -> None:
        what, own = self.table.parse(typed.sent), self._own_command(typed.sent)
        if own is None:
            self._echo(typed.shown)
        if isinstance(what, commands.Call):
            await self._run_alone(what)
        elif own is not None:
            await self._run_own(*own)
        else:
            await self._take_turns(typed.sent, self.agent.run)

    def _own_command(self, text: str) -> tuple[str, RunOwn] | None:
        """Return the shell command of the person's own that `text` is, and what runs it."""
        run = self.actions.run_command
        return (text[1:].strip(), run) if run is not None and text.startswith("!") else None

    def take_turn(self, text: str, run: RunTurn) -> None:
        """Let `run` carry out `text` as a turn of its own."""
        self._start(self._take_turns(text, run))

    def _start(self, work: Coroutine[None, None, None]) -> None:
        self._turns = asyncio.create_task(work)
        self._turns.add_done_callback(lambda _: self.terminal.wake.set())

    def cancel(self) -> None:
        """Stop the turn that runs, if any. What waits for it goes back; what is typed next is a new turn."""
        if self._run is not None:
            if waiting := self.terminal.pending.take_all_back():
                self.not_sent(waiting)
            self._run.cancel()

    async def stop(self) -> None:
        """Stop for good: the turn gets a moment to end what it started."""
        self.terminal.pending.take_all_back()
        self.cancel()
        waiting = [task for task in (self._turns, self._command) if task is not None]
        if waiting:
            await asyncio.wait(waiting, timeout=_LAST_WAIT)

    def take_leave(self) -> None:
        """Say how to go on with the conversation later, if one has begun."""
        if self.agent.context_used():
            self.say(Note(t("terminal.goes_on")))

    def say(self, *what: Display) -> None:
        """Show something in the transcript."""
        for value in what:
            self.terminal.renderer.show(value)

    def recall(self, messages: Sequence[Message]) -> None:
        """Show the end of a conversation that goes on."""
        for value in recap(messages):
            self.terminal.renderer.show(value)

    def usage(self) -> tuple[int, Usage]:
        """Return the tokens in the context, and those used since the conversation began."""
        return self.agent.context_used(), self.terminal.renderer.total

    async def borrow(self, function: Callable[[Asking], str]) -> str:
        """Run a blocking function that asks the person itself, with the terminal in line mode."""
        return await self.lend(function)

    def forget_conversation(self) -> None:
        """Start counting the tokens anew."""
        self.terminal.renderer.forget_conversation()

    def _echo(self, text: str) -> None:
        self.terminal.renderer.show(Said(redact(text)))

    async def _run_command(self, call: commands.Call) -> None:
        try:
            await call.command.run(self._setting, call.argument)
        except PaiCliError as error:
            self.say(Note(str(error), "error"))
        except Exception:  # noqa: BLE001  an edge: a bug becomes one line, its traceback goes to the log
            _log.exception("command /%s", call.command.name)
            self.say(Note(t("terminal.bug"), "error"))

    async def _run_alone(self, call: commands.Call) -> None:
        """Run a command that nothing else runs beside; it can be stopped like a turn."""
        running = self._run = asyncio.create_task(self._run_command(call))
        try:
            await running
        except asyncio.CancelledError:
            self.say(Note(t("terminal.cancelled"), "warning"))
        finally:
            if self._run is running:
                self._run = None
        if self._turns is asyncio.current_task():
            await self._send_waiting(go_on=True)

    async def _take_turns(self, text: str, run: RunTurn) -> None:
        result = await self._one_turn(text, run)
        await self._send_waiting(go_on=result.status in _GOES_ON)

    async def _send_waiting(self, *, go_on: bool) -> None:
        """Run a turn for what was typed meanwhile and nobody took; give it back after a failure."""
        while waiting := self.terminal.pending.take_next():
            if not go_on:
                self.not_sent([*waiting, *self.terminal.pending.take_all_back()])
                return
            if waiting[0].is_command:
                await self._begin(waiting[0])  # which sends what waits behind it
                return
            for message in waiting:
                self._echo(message.shown)
            text = "\n\n".join(message.sent for message in waiting)
            result = await self._one_turn(text, self.agent.run)
            go_on = result.status in _GOES_ON

    async def _run_own(self, command: str, run: RunOwn) -> None:
        """Run a command of the person's own; the model sees it with the next message."""
        renderer, started = self.terminal.renderer, time.monotonic()
        self._echo(f"!{command}")
        renderer.start_turn()
        self.turn_began()
        renderer.on_event(ToolCalled(_OWN, "execute_command", "", command))
        renderer.on_event(ToolStarted(_OWN))
        output = ToolOutput("", ok=False)
        ending = TurnResult("done")
        try:
            self._run = asyncio.ensure_future(
                run(command, lambda text: renderer.on_event(ToolProgress(_OWN, text)))
            )
            output = await self._run
        except asyncio.CancelledError:
            ending = TurnResult("cancelled", exit_code=130)
        except PaiCliError as error:
            ending = TurnResult("error", error=str(error), exit_code=1)
        finally:
            self._run = None
            result = ToolResult(
                _OWN,
                "execute_command",
                ok=output.ok,
                content=output.text,
                summary=output.summary,
                cancelled=ending.status == "cancelled",
                seconds=time.monotonic() - started,
            )
            renderer.on_event(ToolFinished(result))
            renderer.end_turn(ending)
            self.turn_ended(ending)
        if output.text:
            self._seen_by_model.append(
                f"I ran this in the terminal: {command}\n{wrap('execute_command', output.text)}"
            )
        await self._send_waiting(go_on=ending.status in _GOES_ON)

    async def _one_turn(self, text: str, run: RunTurn) -> TurnResult:
        self.terminal.renderer.start_turn()
        self.turn_began()
        result = TurnResult("error", error=t("terminal.bug"), exit_code=1)
        try:
            self._run = asyncio.create_task(self._attached_run(text, run))
            result = await self._run
        except asyncio.CancelledError:
            result = TurnResult("cancelled", exit_code=130)
        except Exception:  # noqa: BLE001  an edge: a bug becomes one line, its traceback goes to the log
            _log.exception("a turn ended with a bug")
        finally:
            self._run = None
            self.terminal.renderer.end_turn(result)
            self.turn_ended(result)
        return result

    async def _attached_run(self, text: str, run: RunTurn) -> TurnResult:
        """Run a turn with the files that its text mentions and the commands that came before it."""
        attached = await asyncio.to_thread(mentions.attached, text, self.actions.root)
        sent = "\n\n".join([*self._seen_by_model, attached])
        self._seen_by_model = []
        return await run(sent, text)
