"""The one seam through which features enter the agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paicli.llm.messages import Message
from paicli.tools.base import Tool, ToolResult


class Extension:
    """Override what you need; every method does nothing by default.

    A hook that raises is told to the person once and never ends the turn.
    """

    @property
    def name(self) -> str:
        """Return what the extension is called when something about it is told."""
        return type(self).__name__

    def tools(self) -> Sequence[Tool[Any]]:
        """Return tools to offer, always the same."""
        return ()

    def tool_names(self) -> Sequence[str]:
        """Return the names of `tools()`, without making them where that takes long."""
        return [tool.name for tool in self.tools()]

    def system_prompt(self) -> str:
        """Return a part of the system prompt; asked once a session, so that it stays byte-stable."""
        return ""

    async def before_turn(self, text: str) -> None:
        """Called when a turn begins with what the person typed."""

    def before_request(self) -> Sequence[Message]:
        """Return messages to append before the next request (never a change of older ones)."""
        return ()

    async def before_change(self) -> None:
        """Called before each call that may change something runs, once it passed its review."""

    async def after_change(self) -> None:
        """Called right after such a call has run, unless it was cancelled."""

    async def after_tool(self, result: ToolResult) -> None:
        """Called after each tool, in the model's order."""

    async def after_turn(self) -> None:
        """Called when a turn has ended, however it ended."""
