"""The loop. Features enter through extensions, never as a branch in here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from paicli.agent.budget import AgentBudget, BudgetState
from paicli.agent.cache_watch import CacheWatch
from paicli.agent.compaction import Compactor, Outcome
from paicli.agent.dispatch import Dispatcher
from paicli.agent.events import (
    Emit,
    Event,
    Notice,
    ReplyFinished,
    RequestStarted,
    TurnResult,
    UsageReported,
)
from paicli.agent.extension import Extension
from paicli.agent.hooks import Hooks
from paicli.agent.prompt import mode_changed, system_prompt
from paicli.agent.turn import Turn
from paicli.config import Settings
from paicli.errors import ModelError, PaiCliError
from paicli.i18n import t
from paicli.llm.client import ChatClient
from paicli.llm.deltas import TextDelta
from paicli.llm.messages import ChatResponse, Message, Usage
from paicli.policy.approval import Approval
from paicli.policy.modes import Mode
from paicli.session.conversation import LLM_RESPONSE, SYSTEM_PROMPT, USER_INPUT, Conversation
from paicli.text import clean
from paicli.tools.base import ToolResult
from paicli.tools.registry import ToolRegistry

_NOT_RUN = (
    "[PaiCLI] The text above holds something written like a tool call. It was not run: tools are called"
    " through the tool-call interface only."
)
_WRAP_UP = (
    "[PaiCLI] A safety limit stopped this task: {reason}. Call no more tools. Answer with what there is: what is"
    " done, what was verified, what is open or blocked, and the next step. Do not claim that everything is done."
)


class Agent:
    """Carries out what the person asks, one turn after another, in one conversation.

    `client` may be replaced between turns (another model).
    """

    def __init__(
        self,
        client: ChatClient,
        registry: ToolRegistry,
        approval: Approval,
        conversation: Conversation,
        settings: Settings,
        emit: Emit,
        extensions: Sequence[Extension] = (),
    ) -> None:
        self.client = client
        self.approval = approval
        self.conversation = conversation
        self.usage = Usage()
        """Tokens of all turns of this process."""
        self.compactor = Compactor(emit)
        self.cache = CacheWatch()
        self._registry = registry
        self._settings = settings
        self._emit = emit
        self._hooks = Hooks(extensions, emit)
        self._dispatcher = Dispatcher(registry, approval, emit, self._hooks)
        self._told_mode = Mode.AUTO if conversation.messages else approval.mode

    async def run(self, text: str, submitted: str | None = None) -> TurnResult:
        """Carry out one request and return how it ended.

        `text` is what the model sees (attachments included); `submitted` is what the person typed,
        which alone grants authority. Cancelling the task ends the turn: the history stays legal
        and the result says `cancelled`. Raises nothing that is not a bug.
        """
        submitted = text if submitted is None else submitted
        turn = Turn(submitted, self._new_budget())
        self.approval.start_turn(submitted)
        try:
            self.conversation.close_open_calls("Unknown: an internal error ended this call.")
            await self._hooks.before_turn(submitted)
            self.append_user(clean(text), USER_INPUT)
            result = await self._loop(turn)
        except asyncio.CancelledError:
            self._keep_what_was_shown(turn)
            result = turn.result("cancelled", exit_code=130)
        except ModelError as error:
            self._keep_what_was_shown(turn)
            result = turn.failed(error)
        except PaiCliError as error:
            result = turn.result("error", error=str(error), exit_code=1)
        await self._hooks.after_turn()
        self.spend(turn.usage)
        return result

    async def _loop(self, turn: Turn) -> TurnResult:
        while True:
            state = turn.budget.check()
            if state is not BudgetState.WITHIN_BUDGET:
                return await self._wrap_up(turn, state)
            response = await self._ask(turn, self._registry.definitions())
            turn.budget.record_round(response.tool_calls)
            if not response.tool_calls:
                return self._answered(turn, response)
            reply = Message(
                "assistant",
                response.content or None,
                response.reasoning or None,
                response.tool_calls,
                source=LLM_RESPONSE,
            )
            self.conversation.append(reply)
            results = await self._dispatcher.dispatch(
                response.tool_calls, turn.submitted, self._record_result
            )
            turn.refused += sum(result.refused for result in results)
            await self._hooks.after_tools(results)
            if reminder := turn.guard.observe(response.tool_calls, results):
                self.append_user(reminder, "runaway_reminder")
                self._emit(Notice("runaway_reminder", t("agent.runaway")))

    async def _ask(self, turn: Turn, tools: Mapping[str, bytes]) -> ChatResponse:
        for message in self._hooks.before_request():
            self.conversation.append(message)
        await self.compactor.fit(self.client, self.conversation, tools, turn.spend)
        self._emit(RequestStarted(turn.budget.begin_iteration()))
        try:
            response = await self._request(turn, tools)
        except ModelError as error:
            if not error.context_overflow or not await self._compact(turn.spend):
                raise
            response = await self._request(turn, tools)
        turn.shown.clear()
        if response.usage is not None:
            self.compactor.measured(response.usage, self.conversation, tools)
            self.cache.answered(response.usage)
            turn.spend(response.usage)
            self._emit(UsageReported(response.usage, turn.usage))
        self._emit(ReplyFinished(response))
        return response

    async def _request(self, turn: Turn, tools: Mapping[str, bytes]) -> ChatResponse:
        turn.shown.clear()

        def emit(event: Event) -> None:
            if isinstance(event, TextDelta):
                turn.shown.append(event.text)
            self._emit(event)

        self.cache.sent(self.client.profile.model, self.conversation.messages, tools)
        return await self.client.chat(self.conversation.messages, tools, emit)

    async def compact(self, focus: str = "") -> Outcome | None:
        """Compact the conversation now; `focus` says what matters. None: nothing was gained."""
        return await self._compact(self.spend, focus)

    async def _compact(self, spend: Callable[[Usage], None], focus: str = "") -> Outcome | None:
        return await self.compactor.compact(self.client, self.conversation, spend, focus)

    def open(self, conversation: Conversation) -> None:
        """Go on with another conversation."""
        self.conversation = conversation
        self.compactor.meter.reset()
        self._told_mode = Mode.AUTO

    def context(self) -> dict[str, int]:
        """Return about how many tokens of the next request each part takes (`ContextMeter.parts`)."""
        tools = self._registry.definitions()
        parts = self.compactor.meter.parts(self.conversation.messages, tools)
        return parts | {"window": self.client.profile.context_window}

    def spend(self, usage: Usage) -> None:
        """Count tokens of this process."""
        self.usage += usage

    def _answered(self, turn: Turn, response: ChatResponse) -> TurnResult:
        text = response.content
        if not text.strip():
            return turn.result("error", error=t("agent.empty_answer"), exit_code=1)
        kept = text
        if response.unexecuted_call:
            self._emit(Notice("call_not_run", t("agent.call_not_run")))
            kept = f"{text}\n\n{_NOT_RUN}"
        if response.finish_reason == "length":
            self._emit(Notice("answer_cut", t("agent.answer_cut")))
        self.conversation.append(Message("assistant", kept, source=LLM_RESPONSE))
        if turn.refused:
            return turn.result("refused", text, exit_code=4)
        return turn.result("done", text)

    async def _wrap_up(self, turn: Turn, state: BudgetState) -> TurnResult:
        """Ask once more without tools for an honest account of what is done and what is not."""
        words = t("agent.partly_done", reason=t(f"agent.reason_{state.value}"))
        self._emit(Notice("partly_done", words))
        heading = f"⚠️ {words}"
        self.append_user(_WRAP_UP.format(reason=state.value), "budget_finalization")
        try:
            response = await self._ask(turn, {})
        except ModelError as error:
            return turn.result("partial", heading, error=str(error), exit_code=3)
        text = f"{heading}\n\n{response.content}".strip()
        self.conversation.append(Message("assistant", text, source="budget_finalization_response"))
        return turn.result("partial", text, exit_code=3)

    def _record_result(self, result: ToolResult) -> None:
        self.conversation.answer(result.id, result.content)

    def append_user(self, text: str, source: str) -> None:
        """Add a message in the person's name, behind the system prompt."""
        self._begin_conversation()
        mode = self.approval.mode
        if source == USER_INPUT and mode is not self._told_mode:
            self._told_mode = mode
            text = f"{text}\n\n{mode_changed(mode)}"
        self.conversation.append(Message("user", text, source=source))

    def _begin_conversation(self) -> None:
        begun = self.conversation.messages
        if begun and begun[0].role == "system":
            return
        self._told_mode = self.approval.mode
        prompt = system_prompt(self._settings.root, self.approval.mode, self._hooks.system_prompt())
        message = Message("system", prompt, source=SYSTEM_PROMPT)
        if begun:  # a damaged session lost it
            self.conversation.rewrite("repair", [message, *begun])
        else:
            self.conversation.append(message)

    def _keep_what_was_shown(self, turn: Turn) -> None:
        """Leave in the history what the person saw of a reply that broke off."""
        shown = "".join(turn.shown).strip()
        if shown:
            text = f"{shown}\n\n[PaiCLI] This reply was interrupted here."
            self.conversation.append(Message("assistant", text, source=LLM_RESPONSE))

    def _new_budget(self) -> AgentBudget:
        return AgentBudget(
            token_budget=self._settings.token_budget,
            max_iterations=self._settings.max_iterations,
            stagnation_window=self._settings.stagnation_window,
        )
