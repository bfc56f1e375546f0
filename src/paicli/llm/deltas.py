"""What the client tells while a reply arrives; the agent's events include these as they are."""

from __future__ import annotations

from paicli.values import value


@value
class TextDelta:
    """A piece of the answer."""

    text: str


@value
class ReasoningDelta:
    """A piece of the model's thinking."""

    text: str


@value
class ArgumentsProgress:
    """A tool call is being written: its name and how many characters of arguments have arrived."""

    name: str
    characters: int


@value
class Retrying:
    """The request failed and is tried again: which attempt comes next, after how many seconds, why."""

    attempt: int
    delay: float
    reason: str


Delta = TextDelta | ReasoningDelta | ArgumentsProgress | Retrying
