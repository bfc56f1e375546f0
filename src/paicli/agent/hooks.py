"""The extensions' hooks, called so that a broken one is told once and never ends a turn."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from paicli.agent.events import Emit, Notice
from paicli.agent.extension import Extension
from paicli.i18n import t
from paicli.llm.messages import Message
from paicli.tools.base import ToolResult

_log = logging.getLogger(__name__)


class Hooks:
    """All extensions of a session, called one after another in their order."""

    def __init__(self, extensions: Sequence[Extension], emit: Emit) -> None:
        self._extensions = extensions
        self._emit = emit
        self._told: set[str] = set()

    def system_prompt(self) -> list[str]:
        """Return what the extensions add to the system prompt."""
        parts: list[str] = []
        for extension in self._extensions:
            with self._edge(extension):
                parts.append(extension.system_prompt())
        return [part for part in parts if part.strip()]

    async def before_turn(self, text: str) -> None:
        """Tell all extensions that a turn begins."""
        for extension in self._extensions:
            with self._edge(extension):
                await extension.before_turn(text)

    def before_request(self) -> list[Message]:
        """Return the messages that extensions want in the next request."""
        messages: list[Message] = []
        for extension in self._extensions:
            with self._edge(extension):
                messages += extension.before_request()
        return messages

    async def before_change(self) -> None:
        """Tell all extensions that a call that may change something is about to run."""
        for extension in self._extensions:
            with self._edge(extension):
                await extension.before_change()

    async def after_change(self) -> None:
        """Tell all extensions that such a call has run."""
        for extension in self._extensions:
            with self._edge(extension):
                await extension.after_change()

    async def after_tools(self, results: Sequence[ToolResult]) -> None:
        """Tell all extensions what the tools of a reply did."""
        for extension in self._extensions:
            with self._edge(extension):
                for result in results:
                    await extension.after_tool(result)

    async def after_turn(self) -> None:
        """Tell all extensions that the turn has ended."""
        for extension in self._extensions:
            with self._edge(extension):
                await extension.after_turn()

    @contextmanager
    def _edge(self, extension: Extension) -> Iterator[None]:
        try:
            yield
        except Exception:  # noqa: BLE001 - the edge: a feature must not take the turn down
            name = extension.name
            _log.exception("extension %s failed", name)
            if name not in self._told:
                self._told.add(name)
                self._emit(Notice("extension_failed", t("agent.extension_failed", name=name)))
