"""A tool is a value: a name, a parameter model, a function and an effect."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from inspect import cleandoc
from typing import Generic, TypeVar

from paicli.display import Display
from paicli.policy.modes import Effect
from paicli.values import value

Tell = Callable[[str], None]
"""Takes output of a running tool, as it comes, for the person to watch. Cheap to call often."""


@value
class ToolOutput:
    """What a tool gives back: `text` for the model; `summary` (a few words) and `display` for the person.

    `ok` is by type, never by text: a command that exits with 1 did run and has `ok` False.
    """

    text: str
    ok: bool = True
    summary: str = ""
    display: Display | None = None


P = TypeVar("P")
"""A `tools.parameters.Parameters`."""


@dataclass(frozen=True, slots=True)
class Tool(Generic[P]):
    """Something the model may call.

    `run` raises `ToolFailed`, `EditError` or `PolicyDenied` with a message for the model. The
    description the model reads is the docstring of `parameters`.
    `subject(parameters)` is what the act is about, for the person and the reviewer: the path, the
    whole command. `preview(parameters)` is shown before a person approves (the diff of a write);
    it changes nothing and returns None when there is nothing to show.
    `guard(parameters)` returns why this call is refused whoever approves it, or None.
    `asks(parameters)` returns why a person must be asked about this call whatever the mode, or None.
    `keeps_inline(parameters)`: the result is never put aside into a file, whatever its size.
    """

    name: str
    parameters: type[P]
    run: Callable[[P, Tell], Awaitable[ToolOutput]]
    effect: Effect
    subject: Callable[[P], str]
    preview: Callable[[P], Display | None] | None = None
    guard: Callable[[P], str | None] | None = None
    asks: Callable[[P], str | None] | None = None
    keeps_inline: Callable[[P], bool] | None = None

    @property
    def description(self) -> str:
        """Return what the model reads about this tool."""
        return cleandoc(self.parameters.__doc__ or "")


@value
class ToolResult:
    """The outcome of one call: `content` is what the model gets, wrapped and bounded.

    `refused`: a guard or a reviewer said no, nothing ran. `cancelled`: the person stopped it.
    """

    id: str
    name: str
    ok: bool
    content: str
    summary: str = ""
    display: Display | None = None
    refused: bool = False
    cancelled: bool = False
    seconds: float = 0.0
