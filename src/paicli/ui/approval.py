"""A person reviews: one question at a time, answered only by keys that were meant for it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable

from paicli.i18n import t
from paicli.policy.approval import ReviewRequest, Verdict
from paicli.text import clean, one_line

QUIET = 0.3
"""Seconds of silence from the keyboard before a key counts as an answer: what was typed on its way to
another place is none."""


def keys_text(request: ReviewRequest) -> str:
    """Return which keys answer a question."""
    if request.offer:
        rules = ", ".join(one_line(rule) for rule in request.offer)
        return t("approval.keys_with_always", rules=rules)
    return t("approval.keys")


class Dialog:
    """One question on the screen. Whatever is unclear is a no.

    `step` is `choose` (a key decides), `reason` (why not, in words) or `edit` (the call is being
    changed); in the last two `text` is what the entry line starts with.
    """

    def __init__(self, request: ReviewRequest, clock: Callable[[], float]) -> None:
        self.request = request
        self.step = "choose"
        self.text = ""
        self.complaint = ""
        self.verdict: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
        self._clock = clock
        self._quiet_until: float | None = None

    def seen(self) -> None:
        """The question is on the screen: from a moment later on, keys count."""
        if self._quiet_until is None:
            self._quiet_until = self._clock() + QUIET

    def key(self, character: str) -> None:
        """Take a key that was pressed while there is a choice."""
        if self._quiet_until is None or self._clock() < self._quiet_until:
            self._quiet_until = self._clock() + QUIET
            return
        match character.lower():
            case "y":
                self._decide(Verdict(allowed=True, reviewer="person"))
            case "a" if self.request.offer:
                self._decide(Verdict(allowed=True, reviewer="person", remember=True))
            case "n":
                self.step, self.text = "reason", ""
            case "e":
                self.step, self.text = "edit", self._editable()
            case "\r" | "\x1b":
                self.refuse()

    def enter(self, text: str) -> None:
        """Take the entry line: a reason, or the changed call."""
        if self.step == "reason":
            self.refuse(clean(text).strip())
            return
        try:
            self._decide(
                Verdict(allowed=True, reviewer="person", arguments=self._edited(clean(text)))
            )
        except ValueError:
            self.complaint = t("approval.not_an_object")

    def refuse(self, reason: str = "") -> None:
        """Answer no."""
        words = f"The user refused this: {reason}" if reason else "The user refused this."
        self._decide(Verdict(allowed=False, reason=words, reviewer="person"))

    def _decide(self, verdict: Verdict) -> None:
        if not self.verdict.done():
            self.verdict.set_result(verdict)

    def _editable(self) -> str:
        command = self.request.arguments.get("command")
        if isinstance(command, str):
            return command
        return json.dumps(self.request.arguments, ensure_ascii=False)

    def _edited(self, text: str) -> dict[str, object]:
        if not text.strip():
            raise ValueError("empty")
        if isinstance(self.request.arguments.get("command"), str):
            return {**self.request.arguments, "command": text}
        changed = json.loads(text)
        if not isinstance(changed, dict):
            raise ValueError("not an object")
        return changed


class PersonReviewer:
    """Asks the person at the terminal. `show` puts a dialog on the screen, `hide` takes it away.

    Until the terminal is there, and once it is gone, the answer is no.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._one_at_a_time = asyncio.Lock()
        self._show: Callable[[Dialog], None] | None = None
        self._hide: Callable[[Dialog, Verdict | None], None] | None = None

    def attach(
        self, show: Callable[[Dialog], None], hide: Callable[[Dialog, Verdict | None], None]
    ) -> None:
        """Ask through these from now on; `hide` gets None when the question was withdrawn."""
        self._show, self._hide = show, hide

    def detach(self) -> None:
        """Nobody can be asked any more."""
        self._show = self._hide = None

    async def review(self, request: ReviewRequest) -> Verdict:
        """Return what the person decides about `request`."""
        async with self._one_at_a_time:
            if self._show is None or self._hide is None:
                return Verdict(
                    allowed=False, reason="Nobody is there to approve this.", reviewer="person"
                )
            dialog = Dialog(request, self._clock)
            hide = self._hide
            self._show(dialog)
            verdict: Verdict | None = None
            try:
                verdict = await dialog.verdict
            finally:
                hide(dialog, verdict)
            return verdict
