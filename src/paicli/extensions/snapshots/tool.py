"""The tool with which the model takes its own changes back."""

from __future__ import annotations

import asyncio

from pydantic import Field

from paicli.agent.file_changes import TakesBack
from paicli.errors import PaiCliError, ToolFailed
from paicli.i18n import t
from paicli.policy.modes import Effect
from paicli.tools.base import Tell, Tool, ToolOutput
from paicli.tools.parameters import Parameters


class RevertTurn(Parameters):
    """Take back what your turns did to the project's files, shell commands included.

    The user must approve. Use it only to undo a mistake that is easier to undo than to mend. Files
    that the user changed since stay as they are and are named in the result.
    """

    offset: int = Field(
        1,
        ge=1,
        le=50,
        description="How many turns that changed files to take back, counted from the newest;"
        " the present turn counts when it changed files.",
    )


def revert_turn_tool(history: TakesBack) -> Tool[RevertTurn]:
    """Return `revert_turn`."""

    async def revert(parameters: RevertTurn, _tell: Tell) -> ToolOutput:
        def work() -> ToolOutput:
            plan = history.plan("revert", parameters.offset)
            done = history.carry_out(plan)
            summary = t("undo.undo_done", count=len(done.files))
            return ToolOutput(done.for_model, ok=not done.left, summary=summary)

        try:
            return await asyncio.to_thread(work)
        except PaiCliError as error:
            raise ToolFailed(str(error)) from error

    return Tool(
        "revert_turn",
        RevertTurn,
        revert,
        Effect.WRITE,
        subject=lambda parameters: f"offset {parameters.offset}",
        asks=lambda _: "Taking back file changes needs the user's approval.",
    )
