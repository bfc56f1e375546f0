"""The terminal's ends that the agent is joined to, before there is a prompt on the screen."""

from __future__ import annotations

import asyncio

from paicli.agent.events import Event
from paicli.ui.approval import PersonReviewer
from paicli.ui.pending import PendingInput
from paicli.ui.render import Renderer
from paicli.ui.shown import Shown


class Terminal:
    """What the composition root joins to the agent: a listener, a reviewer and a queue of input."""

    def __init__(self) -> None:
        self.reviewer = PersonReviewer()
        self.pending = PendingInput()
        self.wake = asyncio.Event()
        self.renderer = Renderer(self.commit, self.wake.set)
        self._ready: list[Shown] = []

    def on_event(self, event: Event) -> None:
        """Listen to the agent."""
        self.renderer.on_event(event)

    def commit(self, value: Shown) -> None:
        """Put `value` above the prompt, soon, once and for all."""
        self._ready.append(value)
        self.wake.set()

    def has_ready(self) -> bool:
        """Tell whether something waits to be put above the prompt."""
        return bool(self._ready)

    def take_ready(self) -> list[Shown]:
        """Remove and return what waits to be put above the prompt."""
        ready, self._ready = self._ready, []
        return ready
