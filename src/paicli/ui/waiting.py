"""A word about a model that keeps a headless run waiting."""

from __future__ import annotations

import asyncio

from paicli.agent.events import Emit, Event, Notice, ReplyFinished, RequestStarted
from paicli.i18n import t
from paicli.llm.deltas import ArgumentsProgress, ReasoningDelta, Retrying, TextDelta

_PATIENCE = 30.0
_SIGNS_OF_LIFE = (TextDelta, ReasoningDelta, ArgumentsProgress, Retrying, ReplyFinished)


class Waiting:
    """Hands events on to `emit`, and says once in a run that nothing has come for half a minute."""

    def __init__(self, emit: Emit, patience: float = _PATIENCE) -> None:
        self._emit = emit
        self._patience = patience
        self._timer: asyncio.TimerHandle | None = None
        self._told = False

    def on_event(self, event: Event) -> None:
        """Listen to the agent."""
        if self._timer is not None and isinstance(event, _SIGNS_OF_LIFE):
            self.stop()
        if isinstance(event, RequestStarted) and not self._told:
            self.stop()
            self._timer = asyncio.get_running_loop().call_later(self._patience, self._tell)
        self._emit(event)

    def stop(self) -> None:
        """Wait no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tell(self) -> None:
        self._told = True
        self._timer = None
        self._emit(Notice("waiting", t("headless.waiting", seconds=f"{self._patience:.0f}")))
