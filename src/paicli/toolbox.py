"""The wiring of the tools: a part of the composition root.

Tools are made when the first of them is called. The first request needs their definitions alone,
and loading the tools takes longer than all else before it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from paicli.agent.extension import Extension
from paicli.config import Settings
from paicli.loading import load
from paicli.policy.modes import Effect
from paicli.policy.path_guard import PathGuard
from paicli.policy.sandbox import CommandSandbox
from paicli.tools.base import Tell, Tool, ToolOutput
from paicli.tools.definitions import made_ahead
from paicli.tools.processes import Processes
from paicli.tools.registry import ToolRegistry
from paicli.tools.results import ResultStore

BUILT_IN = (
    "create_project",
    "edit_file",
    "execute_command",
    "glob_files",
    "grep_code",
    "list_dir",
    "read_file",
    "write_file",
)
_NEEDED = (
    "paicli.llm.failures",
    "paicli.llm.transport",
    "paicli.tools.files",
    "paicli.tools.schema",
    "paicli.tools.shell",
    "paicli.policy.rule_words",
)


class Toolbox:
    """All tools of one session: our own, and those of the extensions."""

    def __init__(
        self,
        guard: PathGuard,
        settings: Settings,
        processes: Processes,
        sandbox: CommandSandbox,
        extensions: Sequence[Extension],
    ) -> None:
        self._guard = guard
        self._settings = settings
        self._processes = processes
        self._sandbox = sandbox
        self._extensions = extensions

    def registry(self, results: ResultStore) -> ToolRegistry:
        """Return all tools as what a model is offered."""
        names = [*BUILT_IN]
        for extension in self._extensions:
            names += extension.tool_names()
        return ToolRegistry(lambda: self.all, results, made_ahead(names))

    @cached_property
    def all(self) -> list[Tool[Any]]:
        """All tools."""
        from paicli.tools.files import file_tools

        tools = [*file_tools(self._guard), self._shell()]
        for extension in self._extensions:
            tools += extension.tools()
        return tools

    def reading(self) -> list[Tool[Any]]:
        """Return the tools that change nothing; the one for commands leaves no trace on disk."""
        reads = [tool for tool in self.all if tool.effect is Effect.READ]
        return [*reads, self._shell(leaves_no_trace=True)]

    async def run_command(self, command: str, tell: Tell) -> ToolOutput:
        """Run a command that the person typed."""
        from paicli.tools.shell import ExecuteCommandParameters

        shell = next(tool for tool in self.all if tool.name == "execute_command")
        return await shell.run(ExecuteCommandParameters(command=command), tell)

    def _shell(self, *, leaves_no_trace: bool = False) -> Tool[Any]:
        from paicli.tools.shell import shell_tool

        return shell_tool(
            self._settings.root,
            self._settings,
            self._processes,
            self._sandbox,
            leaves_no_trace=leaves_no_trace,
        )


def load_ahead() -> None:
    """Load in the background what a turn will need. Who needs it sooner waits for it."""
    threading.Thread(target=load, args=_NEEDED, name="load-tools", daemon=True).start()
