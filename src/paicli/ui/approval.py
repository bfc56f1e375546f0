"""A person reviews: one act at a time."""

from __future__ import annotations

import json
from collections.abc import Callable

from paicli.i18n import t
from paicli.policy.approval import ReviewRequest, Verdict
from paicli.text import clean, one_line
from paicli.ui.question import Asker, Question
from paicli.ui.shown import Asked, Shown

REFUSED = "The user refused this."
"""What the model is told when the person said no without a word."""


def keys_text(request: ReviewRequest) -> str:
    """Return which keys answer a question."""
    if request.own:
        return t("approval.keys_grave" if request.grave else "approval.keys_own")
    if request.offer:
        rules = ", ".join(one_line(rule) for rule in request.offer)
        return t("approval.keys_with_always", rules=rules)
    return t("approval.keys")


class Dialog(Question[Verdict]):
    """Whether an act is allowed. `reason` (why not, in words) and `edit` (the call is changed) are written."""

    def __init__(self, request: ReviewRequest, clock: Callable[[], float]) -> None:
        super().__init__(clock)
        self.request = request

    @property
    def body(self) -> Shown:
        """The act."""
        return Asked(self.request)

    def words(self, name: str) -> str:
        """Return the words of that name."""
        if name == "keys":
            return keys_text(self.request)
        if name == "question" and self.request.own:
            return t("approval.question_grave" if self.request.grave else "approval.question_own")
        return t(f"approval.{name}")

    def _choose(self, key: str) -> None:
        match key:
            case "y":
                self._decide(Verdict(allowed=True, reviewer="person"))
            case "\r" if self.request.own and not self.request.grave:
                self._decide(Verdict(allowed=True, reviewer="person"))
            case "n" | "e" if self.request.own:
                self.refuse()
            case "a" if self.request.offer:
                self._decide(Verdict(allowed=True, reviewer="person", remember=True))
            case "n":
                self.step, self.text = "reason", ""
            case "e":
                self.step, self.text = "edit", self._editable()
            case "\r" | "\x1b":
                self.refuse()

    def line(self, text: str) -> None:
        """Take y, a, n or e; anything else is a no. An empty line is Enter."""
        if self.request.own and not text.strip():
            self.key("\r")
        elif text.strip().lower() in ("y", "n", "e", "a"):
            self.key(text.strip())
        else:
            self.refuse()

    def enter(self, text: str) -> None:
        """Take the entry line: a reason, or the changed call."""
        if self.step == "reason":
            self._refuse(clean(text).strip())
            return
        try:
            self._decide(
                Verdict(allowed=True, reviewer="person", arguments=self._edited(clean(text)))
            )
        except ValueError:
            self.complaint = t("approval.not_an_object")

    def refuse(self) -> None:
        """Answer no."""
        self._refuse("")

    def _refuse(self, reason: str) -> None:
        words = f"The user refused this: {reason}" if reason else REFUSED
        self._decide(Verdict(allowed=False, reason=words, reviewer="person"))

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


class PersonReviewer(Asker):
    """Asks the person at the terminal. Until the terminal is there, and once it is gone, the answer is no."""

    async def review(self, request: ReviewRequest) -> Verdict:
        """Return what the person decides about `request`."""
        verdict = await self.ask(lambda clock: Dialog(request, clock))
        return verdict or Verdict(
            allowed=False, reason="Nobody is there to approve this.", reviewer="person"
        )
