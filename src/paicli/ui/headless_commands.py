"""`paicli -p /command`: the slash commands without a terminal."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from paicli.agent.events import Event, Notice, TurnResult
from paicli.display import Display, Note
from paicli.errors import ConfigError, PaiCliError
from paicli.i18n import t
from paicli.llm.messages import Message, Usage
from paicli.policy.approval import ReviewRequest, Verdict
from paicli.ui.actions import Actions, RunsTurns, RunTurn
from paicli.ui.asking import Asking
from paicli.ui.commands import BUILT_IN, Call, Command, CommandTable, Setting, Unknown, unknown_text
from paicli.ui.plain import as_text

_ANSWERS = {"compacted": "info", "compaction_failed": "error"}
"""Kinds of notices that are what a command has to say."""


class Nobody:
    """Answers what a command would ask a person: no."""

    async def review(self, _request: ReviewRequest) -> Verdict:
        """Refuse."""
        return Verdict(allowed=False, reason="nobody can be asked")


class HeadlessCommands:
    """Carries out one command and gathers what it says.

    `used` tells the tokens in the context and those used so far. `has_model`: there is one to ask.
    """

    def __init__(
        self,
        agent: RunsTurns,
        actions: Actions,
        more_commands: Sequence[Command],
        used: Callable[[], tuple[int, Usage]],
        *,
        has_model: bool,
    ) -> None:
        self._table = CommandTable([*BUILT_IN, *more_commands])
        self._setting = Setting(self, agent, actions, self._table)
        self._used = used
        self._has_model = has_model
        self._shown: list[Display] = []
        self._turn: Coroutine[Any, Any, TurnResult] | None = None

    def takes(self, event: Event) -> bool:
        """Tell whether an event is what a command has to say; it is kept for the result then."""
        if not isinstance(event, Notice) or event.kind not in _ANSWERS:
            return False
        self.say(Note(event.text, _ANSWERS[event.kind]))
        return True

    def call(self, text: str) -> Call:
        """Return the command that `text` is. Raises ConfigError for one that cannot be carried out."""
        found = self._table.parse(text)
        if isinstance(found, Unknown):
            raise ConfigError(unknown_text(found))
        if not isinstance(found, Call):
            raise ConfigError(t("cli.no_prompt"))
        if found.command.not_headless:
            raise ConfigError(t(found.command.not_headless))
        if found.command.asks_model and not self._has_model:
            raise ConfigError(t("cli.no_model"))
        return found

    async def run(self, call: Call) -> TurnResult:
        """Carry out a command and return what it said; an error among it is the result's error."""
        began, (_, before) = time.monotonic(), self._used()
        try:
            await call.command.run(self._setting, call.argument)
            if self._turn is not None:
                return await self._turn
        except asyncio.CancelledError:
            return TurnResult("cancelled", as_text(self._shown), exit_code=130)
        except PaiCliError as error:
            self.say(Note(str(error), "error"))
        complaints = [v for v in self._shown if isinstance(v, Note) and v.kind == "error"]
        _, after = self._used()
        return TurnResult(
            "error" if complaints else "done",
            as_text([value for value in self._shown if value not in complaints]),
            usage=Usage(
                after.input - before.input,
                after.output - before.output,
                after.cached - before.cached,
            ),
            seconds=time.monotonic() - began,
            error="\n".join(note.text for note in complaints),
            exit_code=1 if complaints else 0,
        )

    def take_turn(self, text: str, run: RunTurn) -> None:
        """Let `run` carry out `text`; its result is the command's."""
        self._turn = run(text, text)

    def say(self, *what: Display) -> None:
        """Keep what is said for the result."""
        self._shown += what

    def recall(self, messages: Sequence[Message]) -> None:
        """Do nothing: a script goes on with a conversation, nobody reads it again."""

    def leave(self) -> None:
        """Do nothing: a headless run ends by itself."""

    def usage(self) -> tuple[int, Usage]:
        """Return the tokens in the context, and those used since the conversation began."""
        return self._used()

    async def borrow(self, _function: Callable[[Asking], str]) -> str:
        """Return nothing: there is nobody to talk with."""
        return ""

    def use_theme(self, theme: str) -> None:
        """Do nothing: there are no colours."""

    def forget_conversation(self) -> None:
        """Do nothing: nothing is counted here."""
