"""Carrying out a plan: batch after batch, each task by a fresh agent, and what happens when one fails."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence, Set
from dataclasses import replace

from paicli.agent import plan_prompts
from paicli.agent.events import (
    Emit,
    Event,
    Notice,
    PlanStarted,
    ReplyFinished,
    TaskFinished,
    TaskStarted,
    ToolCalled,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnResult,
)
from paicli.agent.plan import Plan, Task
from paicli.agent.plan_crew import Crew
from paicli.agent.plan_journal import Journal
from paicli.agent.plan_progress import NOT_BEGUN, REPLACED, STOPPED, Outcome, Progress, Status
from paicli.agent.plan_tools import TaskDesk
from paicli.i18n import t
from paicli.llm.deltas import ArgumentsProgress, ReasoningDelta, TextDelta
from paicli.session.conversation import Conversation

_FAILED = re.compile(rf"^\W*{re.escape(plan_prompts.FAILED_MARK)}\s*", re.I | re.M)
_NETWORK = 75
_UNREACHABLE_IN_A_ROW = 2

Replan = Callable[[Progress, Sequence[Task]], Awaitable[Plan | None]]


class Execution:
    """One plan being carried out, and those that replaced it."""

    def __init__(
        self,
        crew: Crew,
        journal: Journal,
        emit: Emit,
        goal: str,
        replan: Replan,
        most_replans: int,
    ) -> None:
        self.runs: list[Progress] = []
        """The plan, then each that replaced the one before it."""
        self.refused = 0
        self.exit_code = 1
        """What a run that got nothing done ends with."""
        self._crew = crew
        self._journal = journal
        self._emit = emit
        self._goal = goal
        self._replan = replan
        self._replans_left = most_replans
        self._unreachable = 0

    async def run(self, progress: Progress, begun: Set[str] = frozenset()) -> None:
        """Carry out what has not ended yet. `begun`: tasks whose earlier attempt was interrupted."""
        self.runs.append(progress)
        self._emit(PlanStarted(progress.plan, len(progress.outcomes)))
        for task in progress.skip_dependants():
            self._ended(progress, task)
        while batch := progress.next_batch():
            await self._batch(progress, batch, begun)
            failed = [task for task in batch if progress.status(task) is Status.FAILED]
            if failed:
                progress = await self._after_failure(progress, failed)

    async def _batch(self, progress: Progress, batch: Sequence[Task], begun: Set[str]) -> None:
        if len(batch) == 1:
            await self._task(progress, batch[0], self._emit, begun)
            return
        async with asyncio.TaskGroup() as group:
            for task in batch:
                emit = _beside_others(self._emit, task)
                group.create_task(self._task(progress, task, emit, begun))

    async def _task(self, progress: Progress, task: Task, emit: Emit, begun: Set[str]) -> None:
        progress.start(task)
        self._journal.started(task)
        self._emit(TaskStarted(task))
        desk = TaskDesk()
        agent = self._crew.new_agent(
            Conversation(self._journal.aside(task.id)),
            emit,
            may_change=not task.only_reads,
            tools=[desk.tool()] if self._crew.by_call else [],
            extensions=[desk],
        )
        text = plan_prompts.task(
            progress,
            task,
            self._goal,
            begun_before=task.id in begun,
            by_call=self._crew.by_call,
        )
        result = await self._crew.work(agent, text, self._goal)
        self.refused += result.refused
        is_unreachable = result.exit_code == _NETWORK and desk.judgement is None
        self._unreachable = self._unreachable + 1 if is_unreachable else 0
        self.exit_code = _NETWORK if is_unreachable else 1
        progress.end(task, judged(result, desk))
        self._ended(progress, task)

    async def _after_failure(self, progress: Progress, failed: Sequence[Task]) -> Progress:
        """Return the progress to go on with: of a new plan, or of this one without what cannot run."""
        if self._unreachable >= _UNREACHABLE_IN_A_ROW:
            for task in progress.end_rest(Status.SKIPPED, "the model cannot be reached"):
                self._ended(progress, task)
            return progress
        if progress.less_than_half_done and self._replans_left > 0:
            self._replans_left -= 1
            self._emit(Notice("replanning", t("plan.replanning", id=failed[0].id)))
            plan = await self._replan(progress, failed)
            if plan is not None:
                return self._replace(progress, plan)
            self._emit(Notice("replanning_failed", t("plan.not_replanned")))
        for task in progress.skip_dependants():
            self._ended(progress, task)
        return progress

    def _replace(self, progress: Progress, plan: Plan) -> Progress:
        for task in progress.end_rest(Status.SKIPPED, REPLACED):
            self._ended(progress, task)
        new = Progress(plan.shifted(sum(len(run.plan.tasks) for run in self.runs)))
        self.runs.append(new)
        self._journal.plan("started", self._goal, new.plan)
        self._emit(PlanStarted(new.plan))
        return new

    def stop(self) -> None:
        """The person stopped it: what runs and what waits is cancelled."""
        for progress in self.runs:
            for task in progress.with_status(Status.RUNNING):
                progress.end(task, Outcome(Status.CANCELLED, STOPPED))
            progress.end_rest(Status.CANCELLED, NOT_BEGUN)

    def _ended(self, progress: Progress, task: Task) -> None:
        outcome = progress.outcomes[task.id]
        self._journal.ended(task, outcome)
        self._emit(TaskFinished(task, outcome))


def judged(result: TurnResult, desk: TaskDesk) -> Outcome:
    """Return how a task ended: by its own judgement where it gave one, else by how its turn ended."""
    if desk.judgement is not None:
        status = Status.DONE if desk.judgement.ok else Status.FAILED
        return Outcome(status, desk.judgement.result.strip() or result.text)
    if result.status == "done":
        if marked := _FAILED.search(result.text):
            return Outcome(Status.FAILED, result.text[marked.end() :].strip() or "no reason given")
        return Outcome(Status.DONE, result.text)
    if result.status == "refused":
        return Outcome(Status.FAILED, f"something it wanted to do was refused. {result.text}")
    return Outcome(Status.FAILED, result.error or result.text or result.status)


def _beside_others(emit: Emit, task: Task) -> Emit:
    """Return a listener for a task that runs beside others: no streamed text, calls that say whose they are."""

    def tell(event: Event) -> None:
        match event:
            case TextDelta() | ReasoningDelta() | ArgumentsProgress() | ReplyFinished():
                return
            case ToolCalled():
                subject = f"[{task.id}] {event.subject}".rstrip()
                emit(replace(event, id=f"{task.id}/{event.id}", subject=subject))
            case ToolStarted() | ToolProgress():
                emit(replace(event, id=f"{task.id}/{event.id}"))
            case ToolFinished(result):
                emit(ToolFinished(replace(result, id=f"{task.id}/{result.id}")))
            case _:
                emit(event)

    return tell
