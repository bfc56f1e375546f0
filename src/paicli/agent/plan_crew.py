"""Fresh agents for the parts of a plan, and what they used together."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any, Protocol

from paicli.agent.agent import Agent
from paicli.agent.events import Emit, TurnResult
from paicli.agent.extension import Extension
from paicli.agent.plan_tools import WithinTurn
from paicli.config import Settings
from paicli.llm.messages import Usage
from paicli.policy.approval import Approval
from paicli.policy.modes import Mode
from paicli.session.conversation import Conversation
from paicli.tools.base import Tool
from paicli.tools.registry import ToolRegistry
from paicli.tools.results import ResultStore


class NewAgent(Protocol):
    """Makes an agent that shares nothing with others but the model, the project and the person.

    `may_change` False: it has the rights of plan mode, tools that only read, and keeps no file of a
    result. True: all tools, by the rules of auto mode (of ask mode when the person is in that).
    `tools` and `extensions` come on top of those of the session.
    """

    def __call__(
        self,
        conversation: Conversation,
        emit: Emit,
        *,
        may_change: bool,
        tools: Sequence[Tool[Any]] = (),
        extensions: Sequence[Extension] = (),
    ) -> Agent: ...


class FreshAgents:
    """Makes such agents. `reading` are the tools that change nothing; `results` keep what is too large."""

    def __init__(
        self,
        main: Agent,
        tools: Sequence[Tool[Any]],
        reading: Sequence[Tool[Any]],
        results: ResultStore,
        settings: Settings,
        extensions: Sequence[Extension],
    ) -> None:
        self._main = main
        self._tools = tools
        self._reading = reading
        self._results = results
        self._settings = settings
        self._extensions = [WithinTurn(extension) for extension in extensions]

    def __call__(
        self,
        conversation: Conversation,
        emit: Emit,
        *,
        may_change: bool,
        tools: Sequence[Tool[Any]] = (),
        extensions: Sequence[Extension] = (),
    ) -> Agent:
        """Return a new agent."""
        if may_change:
            registry = ToolRegistry(lambda: [*self._tools, *tools], self._results)
        else:
            only_cut = ResultStore(None, self._settings.offload_threshold)
            only_cut.fit(self._main.client.profile.context_window)
            registry = ToolRegistry(lambda: [*self._reading, *tools], only_cut)
        approval = WithinPlan(self._main.approval, may_change=may_change)
        # Those of the session first: the other ones end the turn.
        all_extensions = [*self._extensions, *extensions]
        client, settings = self._main.client, self._settings
        return Agent(client, registry, approval, conversation, settings, emit, all_extensions)


class WithinPlan(Approval):
    """The session's approval for one agent: in plan mode, or within an approved plan by the rules of auto.

    As soon as the person switches to ask, what may change things asks.
    """

    def __init__(self, session: Approval, *, may_change: bool) -> None:
        self._session = session
        self._may_change = may_change
        super().__init__(
            self.mode, session.person, session.classifier, session.audit, session.permissions
        )

    @property
    def mode(self) -> Mode:
        """Return the mode that counts now."""
        if not self._may_change:
            return Mode.PLAN
        return Mode.ASK if self._session.mode is Mode.ASK else Mode.AUTO

    @mode.setter
    def mode(self, _mode: Mode) -> None:
        """Change nothing: the mode is the session's."""


class Crew:
    """Runs agents for one request and adds up what they take."""

    def __init__(self, main: Agent, new_agent: NewAgent) -> None:
        self.new_agent = new_agent
        self.by_call = main.client.profile.tools
        """The model calls tools; else it says everything in text."""
        self._main = main
        self._usage = Usage()
        self._steps = 0
        self._started = time.monotonic()

    async def work(self, agent: Agent, text: str, submitted: str) -> TurnResult:
        """Let an agent carry out one request. Raises CancelledError once a cancelled agent has ended.

        An agent turns a cancel into its result; here it must reach the plan as well, also when
        it comes at the moment in which the agent ends by itself.
        """
        turn = asyncio.ensure_future(agent.run(text, submitted))
        try:
            result = await asyncio.shield(turn)
        except asyncio.CancelledError:
            turn.cancel()
            await asyncio.wait([turn])
            if not turn.cancelled():
                self._count(turn.result())
            raise
        self._count(result)
        return result

    def _count(self, result: TurnResult) -> None:
        self._usage += result.usage
        self._steps += result.steps
        self._main.spend(result.usage)

    def result(
        self, status: str, text: str = "", *, refused: int = 0, error: str = "", exit_code: int = 0
    ) -> TurnResult:
        """Return how the request ended, with everything that was used for it."""
        return TurnResult(
            status,
            text,
            self._steps,
            refused,
            self._usage,
            time.monotonic() - self._started,
            error,
            exit_code,
        )
