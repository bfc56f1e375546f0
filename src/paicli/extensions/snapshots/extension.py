"""Snapshots around every turn, and the tool with which the model takes its own changes back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from pydantic import Field

from paicli import secrets
from paicli.agent.events import Emit, FilesChanged, Notice
from paicli.agent.extension import Extension
from paicli.errors import PaiCliError, ToolFailed
from paicli.extensions.snapshots.history import History
from paicli.i18n import t
from paicli.policy.approval import Effect
from paicli.text import clean
from paicli.tools.base import Parameters, Tell, Tool, ToolOutput

_TEXT_LENGTH = 120

Place = Callable[[], tuple[str, int]]
"""Gives the session's id and how many messages the person sent in it."""


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


class Snapshots(Extension):
    """Keeps what stood in the files before a call that may change them, and what it made of them."""

    def __init__(self, history: History, emit: Emit, place: Place) -> None:
        self._history = history
        self._emit = emit
        self._place = place
        self._text = ""
        self._told: set[str] = set()

    def tools(self) -> Sequence[Tool[Any]]:
        """Return `revert_turn`."""
        return (
            Tool(
                "revert_turn",
                RevertTurn,
                self._revert,
                Effect.WRITE,
                subject=lambda parameters: f"offset {parameters.offset}",
                asks=lambda _: "Taking back file changes needs the user's approval.",
            ),
        )

    async def before_turn(self, text: str) -> None:
        """Remember what the turn is about."""
        self._text = secrets.redact(clean(" ".join(text.split())))[:_TEXT_LENGTH]

    async def before_change(self) -> None:
        """Keep the state of the files."""
        session, place = self._place()
        await self._do(lambda: self._history.before_change(self._text, session, place))

    async def after_change(self) -> None:
        """Keep what the call made of them."""
        await self._do(self._history.after_change)

    async def after_turn(self) -> None:
        """Tell what the turn did to the files."""
        files = await self._do(self._history.close_turn)
        if files:
            self._emit(FilesChanged(tuple(files)))

    async def _do(self, work: Callable[[], Any]) -> Any:
        """Do something slow; that it cannot be done is told once and ends nothing."""
        try:
            return await asyncio.to_thread(work)
        except PaiCliError as error:
            if str(error) not in self._told:
                self._told.add(str(error))
                self._emit(Notice("no_snapshot", t("undo.off", reason=error)))
            return None

    async def _revert(self, parameters: RevertTurn, _tell: Tell) -> ToolOutput:
        def work() -> ToolOutput:
            plan = self._history.plan("revert", parameters.offset)
            done = self._history.carry_out(plan)
            summary = t("undo.undo_done", count=len(done.files))
            return ToolOutput(done.for_model, ok=not done.left, summary=summary)

        try:
            return await asyncio.to_thread(work)
        except PaiCliError as error:
            raise ToolFailed(str(error)) from error
