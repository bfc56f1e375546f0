"""From the model's calls to their results: check, review, run, tell.

Neighbouring calls that only read run together, at most four at once. Anything else is a barrier
and runs alone, in the model's order. Results keep the model's order. What is told has no keys in it;
what the model gets is as it is, or its next edit would miss.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence

from paicli.agent.events import Emit, ToolCalled, ToolFinished, ToolProgress, ToolStarted
from paicli.agent.hooks import Hooks
from paicli.display import Note
from paicli.errors import PaiCliError
from paicli.llm.messages import ToolCall
from paicli.policy.approval import Approval, ReviewRequest
from paicli.policy.modes import Effect, Mode
from paicli.secrets import masked
from paicli.tools.base import ToolResult
from paicli.tools.registry import Prepared, ToolRegistry

PARALLEL_READS = 4

Record = Callable[[ToolResult], None]


class Dispatcher:
    """Carries out the calls of one reply after another."""

    def __init__(
        self, registry: ToolRegistry, approval: Approval, emit: Emit, hooks: Hooks
    ) -> None:
        self._registry = registry
        self._hooks = hooks
        self._approval = approval
        self._emit = emit

    async def dispatch(
        self, calls: Sequence[ToolCall], user_request: str, record: Record
    ) -> list[ToolResult]:
        """Carry out `calls` and return their results in order.

        Each result goes to `record` as soon as those before it are known. When cancelled, every
        call that is still open gets a result saying so before CancelledError leaves.
        """
        for call in calls:
            subject = self._registry.subject(call)
            self._emit(masked(ToolCalled(call.id, call.name, call.arguments, subject)))
        results: list[ToolResult] = []
        started: set[str] = set()

        def finish(result: ToolResult) -> None:
            results.append(result)
            record(result)
            self._emit(masked(ToolFinished(result)))

        try:
            for group in self._groups(calls):
                if len(group) == 1:
                    finish(await self._carry_out(group[0], user_request, started))
                    continue
                slots = asyncio.Semaphore(PARALLEL_READS)
                tasks = [
                    asyncio.create_task(self._in_slot(slots, call, user_request, started))
                    for call in group
                ]
                try:
                    for task in tasks:
                        finish(await task)
                finally:
                    for task in tasks:
                        task.cancel()
                    await asyncio.gather(*tasks, return_exceptions=True)
        except asyncio.CancelledError:
            for call in calls[len(results) :]:
                finish(self._registry.cancelled(call, started=call.id in started))
            raise
        return results

    def _groups(self, calls: Sequence[ToolCall]) -> Iterator[list[ToolCall]]:
        reads: list[ToolCall] = []
        for call in calls:
            if self._registry.effect(call.name) is Effect.READ:
                reads.append(call)
                continue
            if reads:
                yield reads
                reads = []
            yield [call]
        if reads:
            yield reads

    async def _in_slot(
        self, slots: asyncio.Semaphore, call: ToolCall, user_request: str, started: set[str]
    ) -> ToolResult:
        async with slots:
            return await self._carry_out(call, user_request, started)

    async def _carry_out(self, call: ToolCall, user_request: str, started: set[str]) -> ToolResult:
        prepared = self._registry.prepare(call)
        if isinstance(prepared, Prepared):
            prepared = await self._reviewed(prepared, user_request)
        elif prepared.refused:
            said = prepared.display
            reason = said.text if isinstance(said, Note) else prepared.content
            self._approval.note_refusal(call.name, call.arguments, reason)
        if isinstance(prepared, ToolResult):
            return prepared
        changes = prepared.effect is not Effect.READ
        if changes:
            await self._hooks.before_change()
        started.add(call.id)
        self._emit(ToolStarted(call.id))
        result = await self._registry.run(
            prepared, lambda text: self._emit(masked(ToolProgress(call.id, text)))
        )
        if changes:
            await self._hooks.after_change()
        return result

    async def _reviewed(self, prepared: Prepared, user_request: str) -> Prepared | ToolResult:
        must_ask = prepared.must_ask
        if prepared.effect is Effect.READ and must_ask is None:
            return prepared
        preview = None
        if must_ask is not None or self._approval.mode is Mode.ASK:
            try:
                preview = prepared.preview()
            except PaiCliError as error:
                # What cannot be carried out needs no asking; but a failure may quote the file, and
                # what must be asked about is not to be read that way.
                if must_ask is None:
                    return self._registry.without_success(prepared.call, error)
        request = ReviewRequest(
            tool=prepared.tool.name,
            effect=prepared.effect,
            arguments=prepared.arguments,
            subject=prepared.subject,
            user_request=user_request,
            preview=preview,
        )
        verdict = await self._approval.decide(request, must_ask)
        if not verdict.allowed:
            return self._registry.refused(prepared.call, verdict.reason)
        if verdict.arguments is not None:
            return self._registry.edited(prepared, verdict.arguments)
        return prepared
