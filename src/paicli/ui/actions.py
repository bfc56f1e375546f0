"""What the terminal needs of the program around it, as one value that the composition root fills."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Protocol

from paicli.agent.events import TurnResult
from paicli.display import Display
from paicli.llm.bill import Bill
from paicli.llm.messages import Message, Usage
from paicli.policy.modes import Mode
from paicli.tools.base import Tell, ToolOutput
from paicli.ui.asking import Asking
from paicli.values import value


class Profile(Protocol):
    """What is shown of a model."""

    @property
    def provider(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def context_window(self) -> int: ...


class HasProfile(Protocol):
    """The client, as far as the terminal looks at it."""

    @property
    def profile(self) -> Profile: ...


class HasMode(Protocol):
    """The approval rule, as far as the terminal looks at it."""

    mode: Mode


class RunsTurns(Protocol):
    """The agent, as far as the terminal drives it."""

    @property
    def client(self) -> HasProfile: ...

    @property
    def approval(self) -> HasMode: ...

    def context_used(self) -> int:
        """Return about how many tokens the next request takes; 0 before the conversation begins."""

    async def run(self, text: str, submitted: str | None = None) -> TurnResult: ...


RunTurn = Callable[[str, str], Coroutine[Any, Any, TurnResult]]
"""Carries out one request, given what the model sees and what was typed; see `Agent.run`."""


class Screen(Protocol):
    """Where a command shows its answer."""

    def take_turn(self, text: str, run: RunTurn) -> None:
        """Let `run` carry out `text` as a turn of its own."""

    def say(self, *what: Display) -> None:
        """Show something above the prompt."""

    def recall(self, messages: Sequence[Message]) -> None:
        """Show the end of a conversation that goes on."""

    def leave(self) -> None:
        """End the program."""

    def usage(self) -> tuple[int, Usage]:
        """Return the tokens in the context, and those used since the conversation began."""

    async def borrow(self, function: Callable[[Asking], str]) -> str:
        """Run a blocking function that asks the person itself, with the terminal in line mode."""

    def use_theme(self, theme: str) -> None:
        """Draw in the colours of `theme` from now on."""

    def forget_conversation(self) -> None:
        """Start counting the tokens anew."""


@value
class Actions:
    """The program's side of the slash commands.

    `root` is the project folder, `home` PaiCLI's own. `model` carries out `/model ARGUMENT` and gives
    what to show, `model_names` what completion offers. `new_conversation` empties the history. `bill` says what the session has cost.
    `keep_setting(name, value)` remembers a setting for later starts.
    `run_command` runs a shell command of the person's own (`!command`); it raises PaiCliError.
    """

    root: Path
    home: Path
    model: Callable[[str], Awaitable[Sequence[Display]]]
    model_names: Callable[[], Sequence[str]]
    new_conversation: Callable[[], None]
    bill: Bill = field(default_factory=Bill)
    keep_setting: Callable[[str, str], None] = field(default=lambda _name, _value: None)
    run_command: Callable[[str, Tell], Awaitable[ToolOutput]] | None = None
