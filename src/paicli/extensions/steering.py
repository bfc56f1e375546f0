"""What the person types while the agent works reaches the model at its next step."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from paicli.agent.extension import Extension
from paicli.llm.messages import Message
from paicli.text import clean

SOURCE = "steering"


class Steering(Extension):
    """Takes the waiting messages from whoever collects them. What is left when a turn ends stays there."""

    def __init__(self, take: Callable[[], Sequence[str]]) -> None:
        self._take = take

    def before_request(self) -> Sequence[Message]:
        """Hand over everything that was typed since the last request."""
        return [Message("user", clean(text), source=SOURCE) for text in self._take()]
