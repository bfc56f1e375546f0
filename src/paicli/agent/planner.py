"""Plan mode: look around, make a plan, let the person judge it, carry it out, remember all of it.

A driver: whatever thinks or acts here is a fresh `Agent`. Until the person has approved a plan,
every agent has the rights of plan mode, so that nothing on disk changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from paicli.agent.agent import Agent
from paicli.agent.events import Emit, TurnResult
from paicli.agent.hooks import Hooks
from paicli.agent.plan_crew import Crew, NewAgent
from paicli.agent.plan_journal import Journal, Unfinished
from paicli.agent.plan_request import Request
from paicli.agent.plan_review import PlanReviewer
from paicli.errors import PaiCliError
from paicli.i18n import t
from paicli.text import clean


class Planner:
    """Takes requests as an agent does, and answers each with a plan that is carried out."""

    def __init__(
        self,
        main: Agent,
        new_agent: NewAgent,
        reviewer: PlanReviewer,
        journal: Journal,
        hooks: Hooks,
        emit: Emit,
        most_replans: int,
    ) -> None:
        self._main = main
        self._new_agent = new_agent
        self._reviewer = reviewer
        self._journal = journal
        self._hooks = hooks
        self._emit = emit
        self._most_replans = most_replans

    async def run(self, text: str, submitted: str | None = None) -> TurnResult:
        """Carry out one request as a plan. The contract is that of `Agent.run`."""
        typed = text if submitted is None else submitted
        return await self._turn(typed, lambda request: request.answer(clean(text)))

    async def go_on(self) -> TurnResult:
        """Offer the rest of the plan that this session left in the middle."""
        left = self._journal.unfinished()
        if left is None:
            return TurnResult("error", error=t("plan.nothing_left"), exit_code=1)
        return await self._turn(left.goal, lambda request: request.resume(left))

    def unfinished(self) -> Unfinished | None:
        """Return the plan that this session left in the middle, None when there is none."""
        return self._journal.unfinished()

    async def _turn(
        self, typed: str, work: Callable[[Request], Awaitable[TurnResult]]
    ) -> TurnResult:
        crew = Crew(self._main, self._new_agent)
        request = Request(
            self._main, crew, self._reviewer, self._journal, self._emit, self._most_replans, typed
        )
        try:
            self._main.conversation.close_open_calls("Unknown: an internal error ended this call.")
            await self._hooks.before_turn(typed)
            result = await work(request)
        except asyncio.CancelledError:
            result = request.stopped()
        except PaiCliError as error:
            result = crew.result("error", error=str(error), exit_code=1)
        await self._hooks.after_turn()
        return result
