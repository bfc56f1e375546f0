"""Snapshots around every turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from paicli import secrets
from paicli.agent.events import Emit, FilesChanged, Notice
from paicli.agent.extension import Extension
from paicli.agent.file_changes import FileChange, TakesBack
from paicli.errors import PaiCliError
from paicli.i18n import t
from paicli.text import clean
from paicli.tools.base import Tool

_TEXT_LENGTH = 120

Place = Callable[[], tuple[str, int]]
"""Gives the session's id and how many messages the person sent in it."""


class Keeps(TakesBack, Protocol):
    """The history of the files as it grows; `history.History`."""

    def before_change(self, text: str, session: str = "", place: int = 0) -> None: ...

    def after_change(self) -> None: ...

    def close_turn(self) -> list[FileChange]: ...

    def close(self) -> None: ...


class Snapshots(Extension):
    """Keeps what stood in the files before a call that may change them, and what it made of them.

    `history` is asked for when the first such call comes.
    """

    def __init__(self, history: Callable[[], Keeps], emit: Emit, place: Place) -> None:
        self._history = history
        self._emit = emit
        self._place = place
        self._text = ""
        self._changed = False
        self._told: set[str] = set()

    def tool_names(self) -> Sequence[str]:
        """Return the name of the one tool."""
        return ("revert_turn",)

    def tools(self) -> Sequence[Tool[Any]]:
        """Return `revert_turn`."""
        from paicli.extensions.snapshots.tool import revert_turn_tool

        return (revert_turn_tool(self._history()),)

    async def before_turn(self, text: str) -> None:
        """Remember what the turn is about."""
        self._text = secrets.redact(clean(" ".join(text.split())))[:_TEXT_LENGTH]

    async def before_change(self) -> None:
        """Keep the state of the files."""
        session, place = self._place()
        self._changed = True
        await self._do(lambda: self._history().before_change(self._text, session, place))

    async def after_change(self) -> None:
        """Keep what the call made of them."""
        await self._do(lambda: self._history().after_change())

    async def after_turn(self) -> None:
        """Tell what the turn did to the files."""
        if not self._changed:
            return
        self._changed = False
        files = await self._do(lambda: self._history().close_turn())
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
