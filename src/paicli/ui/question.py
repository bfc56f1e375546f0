"""A question on the screen, whatever it is about: asked once, answered only by keys that were meant for it."""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from paicli.ui.shown import Shown

A = TypeVar("A")

QUIET = 0.3
"""Seconds of silence from the keyboard before a key counts as an answer: what was typed on its way to
another place is none."""


class Question(ABC, Generic[A]):
    """One question. Whatever is unclear is a no.

    `step` is `choose` (a key decides) or the name of what is being written in the entry line, which
    starts with `text`. `wants_editor`: that is to be written in the person's editor.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.step = "choose"
        self.text = ""
        self.complaint = ""
        self.wants_editor = False
        self.answer: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        self._clock = clock
        self._quiet_until: float | None = None

    @property
    @abstractmethod
    def body(self) -> Shown:
        """What it is about."""

    @abstractmethod
    def words(self, name: str) -> str:
        """Return the words of that name: `question`, `keys`, and `<step>_label` and `<step>_how`."""

    def seen(self) -> None:
        """The question is on the screen: from a moment later on, keys count."""
        if self._quiet_until is None:
            self._quiet_until = self._clock() + QUIET

    def key(self, character: str) -> None:
        """Take a key that was pressed while there is a choice."""
        if self._quiet_until is None or self._clock() < self._quiet_until:
            self._quiet_until = self._clock() + QUIET
            return
        self._choose(character.lower())

    @abstractmethod
    def _choose(self, key: str) -> None: ...

    @abstractmethod
    def enter(self, text: str) -> None:
        """Take what was written in the entry line."""

    @abstractmethod
    def line(self, text: str) -> None:
        """Take a whole line, where there are no single keys, while there is a choice."""

    @abstractmethod
    def refuse(self) -> None:
        """Take Esc: leave the entry line, or answer no."""

    def unfold(self) -> bool:
        """Show all of what it is about; False when there is no more of it."""
        return False

    def _decide(self, answer: A) -> None:
        if not self.answer.done():
            self.answer.set_result(answer)


class Asker:
    """Puts one question at a time before the person. `show` puts it on the screen, `hide` takes it away."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._one_at_a_time = asyncio.Lock()
        self._show: Callable[[Question[Any]], None] | None = None
        self._hide: Callable[[Question[Any], object], None] | None = None

    def attach(
        self,
        show: Callable[[Question[Any]], None],
        hide: Callable[[Question[Any], object], None],
    ) -> None:
        """Ask through these from now on; `hide` gets None when the question was withdrawn."""
        self._show, self._hide = show, hide

    def detach(self) -> None:
        """Nobody can be asked any more."""
        self._show = self._hide = None

    async def ask(self, make: Callable[[Callable[[], float]], Question[A]]) -> A | None:
        """Return the person's answer to the question that `make` makes; None when nobody is there."""
        async with self._one_at_a_time:
            if self._show is None or self._hide is None:
                return None
            question, hide = make(self._clock), self._hide
            self._show(question)
            answer: A | None = None
            try:
                answer = await question.answer
            finally:
                hide(question, answer)
            return answer
