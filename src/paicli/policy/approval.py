"""May it? The rule that decides what runs at once, what is reviewed, and by whom."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from paicli.display import Display


class Effect(StrEnum):
    """What a tool does to the world."""

    READ = "read"
    WRITE = "write"
    COMMAND = "command"


class Mode(StrEnum):
    """How much the person wants to be asked; Shift+Tab cycles in this order."""

    AUTO = "auto"
    PLAN = "plan"
    ASK = "ask"

    def next(self) -> Mode:
        """Return the mode that Shift+Tab switches to."""
        modes = list(Mode)
        return modes[(modes.index(self) + 1) % len(modes)]


@dataclass(frozen=True, slots=True)
class ReviewRequest:
    """One act to be judged.

    `subject` is what will be done, whole and unshortened (the command, the path). `preview` is
    what a person is shown with it (a write's diff). `user_request` is what the person typed this
    turn: the only text that grants authority. `reason` says why a person is asked about an act
    that usually goes to the classifier.
    """

    tool: str
    effect: Effect
    arguments: dict[str, object]
    subject: str
    user_request: str
    preview: Display | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A reviewer's answer; `reason` is for the model. `arguments`: the person edited the call."""

    allowed: bool
    reason: str = ""
    reviewer: str = "none"
    arguments: dict[str, object] | None = None


class Reviewer(Protocol):
    """Judges one act. Must not raise but for cancellation; what it cannot judge it refuses."""

    async def review(self, request: ReviewRequest) -> Verdict: ...
