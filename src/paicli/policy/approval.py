"""May it? The rule that decides what runs at once, what is reviewed, and by whom."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Protocol

from paicli.display import Display
from paicli.policy.audit import Audit
from paicli.policy.modes import Effect, Mode
from paicli.policy.permissions import Permissions
from paicli.values import value

REFUSALS_BEFORE_ASKING = 3


@value
class ReviewRequest:
    """One act to be judged.

    `subject` is what will be done, whole and unshortened (the command, the path). `preview` is
    what a person is shown with it (a write's diff). `user_request` is what the person typed this
    turn: the only text that grants authority. `reason` says why a person is asked about an act
    that usually goes to the classifier. `offer` are the rules that a "from now on" would add:
    commands that begin with these words, all that the person would allow by it. `own`: the person
    asked for the act themselves and only confirms it, so Enter alone does it; unless it is `grave`.
    """

    tool: str
    effect: Effect
    arguments: dict[str, object]
    subject: str
    user_request: str
    preview: Display | None = None
    reason: str = ""
    offer: tuple[str, ...] = ()
    own: bool = False
    grave: bool = False


@value
class Verdict:
    """A reviewer's answer; `reason` is for the model. `arguments`: the person edited the call.

    `remember`: the person allows the request's `offer` from now on, in this project.
    """

    allowed: bool
    reason: str = ""
    reviewer: str = "none"
    arguments: dict[str, object] | None = None
    remember: bool = False


class Reviewer(Protocol):
    """Judges one act. Must not raise but for cancellation; what it cannot judge it refuses."""

    async def review(self, request: ReviewRequest) -> Verdict: ...


_NOBODY = "Nobody can approve this: PaiCLI runs without a person to ask. Do what needs no approval, and say what is left to do."
_PLAN = "Plan mode: nothing is written and no command with effects runs. Only read, and describe what you would do."
_ADVICE = "Try a safer way that only reads, or tell the person what you need and why; they can switch to ask mode and approve it."


class Approval:
    """Decides about every act that changes something, for one session.

    In `auto` writes run, commands that provably only read run, and all other commands go to the
    classifier; its third refusal in a row goes to the person. In `ask` the person decides. In
    `plan` only what provably only reads runs. Whatever needs a person is refused when there is none.
    Guards are asked elsewhere and before: nothing here allows what they refused.
    """

    def __init__(
        self,
        mode: Mode,
        person: Reviewer | None,
        classifier: Reviewer | None,
        audit: Audit,
        permissions: Permissions,
    ) -> None:
        self.mode = mode
        self.person = person
        self.classifier = classifier
        self.audit = audit
        self.permissions = permissions
        self._user_request = ""
        self._refusals = 0

    def start_turn(self, user_request: str) -> None:
        """Begin a turn: `user_request` is what the person typed, and refusals count anew."""
        self._user_request = user_request
        self._refusals = 0

    async def decide(self, request: ReviewRequest, must_ask: str | None = None) -> Verdict:
        """Return whether the act may happen; `must_ask` is why a person must say so whatever the mode."""
        started = time.monotonic()
        request = replace(request, user_request=request.user_request or self._user_request)
        verdict = await self._judge(request, must_ask)
        self.audit.record(
            request.tool,
            verdict.arguments or request.arguments,
            outcome="allow" if verdict.allowed else "deny",
            reason=verdict.reason,
            approver=verdict.reviewer,
            seconds=time.monotonic() - started,
        )
        return verdict

    def note_refusal(self, tool: str, arguments: str, reason: str) -> None:
        """Put into the audit log that a guard refused a call, which therefore nobody decided about."""
        self.audit.record(
            tool, _as_object(arguments), outcome="deny", reason=reason, approver="policy"
        )

    async def _judge(self, request: ReviewRequest, must_ask: str | None) -> Verdict:
        mode, command = self.mode, request.effect is Effect.COMMAND
        if mode is Mode.PLAN and request.effect is not Effect.READ:
            if command and self.permissions.only_reads(request.subject):
                return Verdict(allowed=True, reviewer="harmless")
            return Verdict(allowed=False, reason=_PLAN, reviewer="plan")
        if must_ask is not None:
            return await self._ask_person(request, must_ask)
        if command and self.permissions.allows(request.subject):
            return Verdict(allowed=True, reviewer="rule")
        match mode, request.effect:
            case Mode.ASK, Effect.WRITE | Effect.COMMAND:
                return await self._ask_person(request, "")
            case _, Effect.COMMAND:
                return await self._review_command(request)
        return Verdict(allowed=True)

    async def _ask_person(self, request: ReviewRequest, reason: str) -> Verdict:
        if self.person is None:
            words = f"{reason} {_NOBODY}".strip()
            return Verdict(allowed=False, reason=words, reviewer="none")
        command = request.effect is Effect.COMMAND
        offer = self.permissions.offer(request.subject) if command else ()
        verdict = await self.person.review(replace(request, reason=reason, offer=offer))
        if verdict.allowed and verdict.remember and verdict.arguments is None:
            self.permissions.add(offer)
        return verdict

    async def _review_command(self, request: ReviewRequest) -> Verdict:
        if self.permissions.only_reads(request.subject):
            return Verdict(allowed=True, reviewer="harmless")
        if self.classifier is None:
            verdict = Verdict(allowed=False, reason="There is no model to review it.")
        else:
            verdict = await self.classifier.review(request)
        if verdict.allowed:
            self._refusals = 0
            return verdict
        self._refusals += 1
        if self._refusals >= REFUSALS_BEFORE_ASKING and self.person is not None:
            self._refusals = 0
            return await self._ask_person(request, verdict.reason)
        reason = f"The automatic review did not allow this: {verdict.reason} {_ADVICE}"
        return replace(verdict, reason=reason)


def _as_object(arguments: str) -> dict[str, object]:
    """Return a call's arguments by name; under one name what is no JSON object."""
    try:
        found = json.loads(arguments)
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {"arguments": arguments}
