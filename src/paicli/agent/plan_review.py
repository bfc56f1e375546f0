"""Who judges a plan, and what they can say about it."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from paicli.agent.events import TurnResult
from paicli.agent.plan import Plan
from paicli.agent.plan_journal import Unfinished
from paicli.values import value


class Choice(StrEnum):
    """What becomes of a plan: carried out, made anew, dropped, or shown and left at that."""

    RUN = "run"
    REVISE = "revise"
    DROP = "drop"
    KEEP = "keep"


@value
class Judgement:
    """A reviewer's answer. `plan`: as the person edited it; `requirements`: what REVISE adds."""

    choice: Choice
    plan: Plan | None = None
    requirements: str = ""


class PlanReviewer(Protocol):
    """Judges a plan before anything of it happens. Must not raise but for cancellation."""

    async def review_plan(self, plan: Plan) -> Judgement: ...


class Always:
    """Gives one answer to every plan: what the command line decides when nobody is there."""

    def __init__(self, choice: Choice) -> None:
        self._judgement = Judgement(choice)

    async def review_plan(self, _plan: Plan) -> Judgement:
        """Return the answer."""
        return self._judgement


class Plans(Protocol):
    """What carries requests out as plans; `agent.planner.Planner`, which is made when it is needed."""

    async def run(self, text: str, submitted: str | None = None) -> TurnResult: ...

    async def go_on(self) -> TurnResult: ...

    def unfinished(self) -> Unfinished | None: ...
