"""The two tools through which a planner and a task's agent say that they are finished."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import ConfigDict, Field, WithJsonSchema

from paicli.agent.extension import Extension
from paicli.agent.plan import FINISH_TASK, SUBMIT_PLAN, Plan, TaskType, from_value
from paicli.errors import PlanError, ToolFailed
from paicli.i18n import t
from paicli.llm.messages import Message
from paicli.policy.modes import Effect
from paicli.tools.base import Tell, Tool, ToolOutput, ToolResult
from paicli.tools.parameters import Parameters

_TASK_SCHEMA = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "description": "A unique name, task_1 and so on."},
        "description": {
            "type": "string",
            "description": "What to do, complete for somebody who sees nothing else.",
        },
        "type": {"type": "string", "enum": [kind.value for kind in TaskType]},
        "dependencies": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Ids of the tasks whose results or changes this one needs.",
        },
    },
    "required": ["id", "description", "type", "dependencies"],
}


class SubmitPlanParameters(Parameters):
    """Submit the plan for the user's request, once you know enough. Ends the planning.

    The user reviews it before anything is done. Submit it whole: a second plan replaces the first.
    """

    model_config = ConfigDict(
        extra="ignore", frozen=True, json_schema_extra={"required": ["summary", "tasks"]}
    )

    # What is wrong with a plan is said by `from_value`, the same way for a call and for JSON text.
    summary: Annotated[Any, WithJsonSchema({"type": "string"})] = Field(
        None, description="One or two sentences: what will be achieved, and how."
    )
    findings: Annotated[Any, WithJsonSchema({"type": "string"})] = Field(
        "", description="What you found out that those who carry out the tasks need to know."
    )
    tasks: Annotated[Any, WithJsonSchema({"type": "array", "items": _TASK_SCHEMA})] = Field(
        None, description="The tasks, at least one."
    )


class FinishTaskParameters(Parameters):
    """Say that your task is over. Call it alone, as the last thing you do."""

    ok: bool = Field(description="True only when the task is done and checked as far as possible.")
    result: str = Field(
        description="What was done or found, or why the task could not be done; later tasks build on it."
    )


class PlanDesk(Extension):
    """Takes a plan through `submit_plan`, and ends the turn when it has one or when it was given two bad ones."""

    def __init__(self) -> None:
        self.plan: Plan | None = None
        self.problem = ""
        self.attempts = 0

    def tool(self) -> Tool[SubmitPlanParameters]:
        """Return `submit_plan`."""
        return Tool(
            SUBMIT_PLAN, SubmitPlanParameters, self._submit, Effect.READ, subject=lambda _: ""
        )

    async def _submit(self, parameters: SubmitPlanParameters, _tell: Tell) -> ToolOutput:
        try:
            self.plan = from_value(parameters.model_dump())
        except PlanError as error:
            raise ToolFailed(str(error)) from error
        return ToolOutput(
            "The plan goes to the user.",
            summary=t("plan.tasks", count=len(self.plan.tasks)),
        )

    async def after_tool(self, result: ToolResult) -> None:
        """End the turn behind the plan; or behind the second one that cannot be used."""
        if result.name != SUBMIT_PLAN:
            return
        if not result.ok:
            self.attempts += 1
            self.problem = _told(result)
        if self.plan is not None or self.attempts > 1:
            raise asyncio.CancelledError


class TaskDesk(Extension):
    """Takes a task's own judgement through `finish_task`, and ends the turn behind it."""

    def __init__(self) -> None:
        self.judgement: FinishTaskParameters | None = None

    def tool(self) -> Tool[FinishTaskParameters]:
        """Return `finish_task`."""
        return Tool(
            FINISH_TASK, FinishTaskParameters, self._finish, Effect.READ, subject=lambda _: ""
        )

    async def _finish(self, parameters: FinishTaskParameters, _tell: Tell) -> ToolOutput:
        self.judgement = parameters
        return ToolOutput("Noted.", ok=parameters.ok)

    async def after_tool(self, _result: ToolResult) -> None:
        """End the turn: the whole batch of calls has its results by now, and no request is needed."""
        if self.judgement is not None:
            raise asyncio.CancelledError


class WithinTurn(Extension):
    """An extension as the agents within a plan have it: all its hooks but the two ends of a turn.

    For the person a plan is one turn, however many agents carry it out.
    """

    def __init__(self, extension: Extension) -> None:
        self._extension = extension

    @property
    def name(self) -> str:
        """Return the extension's own name."""
        return self._extension.name

    def system_prompt(self) -> str:
        """Return what the extension adds to the system prompt."""
        return self._extension.system_prompt()

    def before_request(self) -> Sequence[Message]:
        """Return the messages that the extension wants in the next request."""
        return self._extension.before_request()

    async def before_change(self) -> None:
        """Tell the extension that something may change now."""
        await self._extension.before_change()

    async def after_change(self) -> None:
        """Tell the extension that something may have changed."""
        await self._extension.after_change()

    async def after_tool(self, result: ToolResult) -> None:
        """Tell the extension what a tool did."""
        await self._extension.after_tool(result)


def _told(result: ToolResult) -> str:
    lines = result.content.strip().splitlines()
    return "\n".join(lines[1:-1]).removeprefix("Error: ")
