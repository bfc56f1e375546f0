"""All tools by name: what the model is offered, and a way to run one that never raises."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from typing import Any

from paicli.display import Display, Note
from paicli.errors import EditError, PaiCliError, PolicyDenied, ToolFailed
from paicli.i18n import t
from paicli.llm.messages import ToolCall
from paicli.policy.modes import Effect
from paicli.text import clean
from paicli.tools.base import Tell, Tool, ToolOutput, ToolResult
from paicli.tools.results import ResultStore, wrap
from paicli.values import value

_log = logging.getLogger(__name__)


@value
class Prepared:
    """A call whose arguments are valid and which no guard refused; it has not been reviewed yet."""

    call: ToolCall
    tool: Tool[Any]
    parameters: Any
    arguments: dict[str, object]

    @property
    def effect(self) -> Effect:
        """Return what the call does to the world."""
        return self.tool.effect

    @property
    def subject(self) -> str:
        """Return what the call is about: a path, a whole command."""
        return self.tool.subject(self.parameters)

    @property
    def must_ask(self) -> str | None:
        """Return why a person must be asked whatever the mode, or None."""
        return self.tool.asks(self.parameters) if self.tool.asks else None

    def preview(self) -> Display | None:
        """Return what a person is shown before they approve, or None. Raises what running it would."""
        return self.tool.preview(self.parameters) if self.tool.preview else None


class ToolRegistry:
    """The tools of a session. `run` is total: whatever a tool does, the model gets a result.

    `make` returns the tools and is asked when the first of them is called; `definitions` are
    theirs, when they are known without them.
    """

    def __init__(
        self,
        make: Callable[[], Iterable[Tool[Any]]],
        results: ResultStore,
        definitions: dict[str, bytes] | None = None,
    ) -> None:
        self._make = make
        self._results = results
        self._definitions = definitions

    @cached_property
    def _tools(self) -> dict[str, Tool[Any]]:
        return {tool.name: tool for tool in sorted(self._make(), key=lambda tool: tool.name)}

    def definitions(self) -> dict[str, bytes]:
        """Return each tool's serialised definition, sorted by name, made once."""
        if self._definitions is None:
            from paicli.tools.schema import definition

            self._definitions = {name: definition(tool) for name, tool in self._tools.items()}
        return self._definitions

    def effect(self, name: str) -> Effect | None:
        """Return the effect of the tool of that name; None when there is no such tool."""
        tool = self._tools.get(name)
        return tool.effect if tool else None

    def subject(self, call: ToolCall) -> str:
        """Return what a call is about for a person to read, also when it is not valid."""
        try:
            prepared = self._prepare(call)
        except PaiCliError:
            return ""
        return prepared.subject

    def prepare(self, call: ToolCall) -> Prepared | ToolResult:
        """Check a call: a known tool, valid arguments, nothing a guard refuses. Else its result."""
        try:
            prepared = self._prepare(call)
            if prepared.tool.guard and (reason := prepared.tool.guard(prepared.parameters)):
                raise PolicyDenied(reason)
        except PaiCliError as error:
            return self.without_success(call, error)
        return prepared

    def _prepare(self, call: ToolCall) -> Prepared:
        if call.error:
            raise ToolFailed(call.error)
        tool = self._tools.get(call.name)
        if tool is None:
            names = ", ".join(self._tools)
            raise ToolFailed(f"Unknown tool: {call.name}. The tools are: {names}.", "unknown_tool")
        from paicli.tools.schema import validated

        arguments = _cleaned(json.loads(call.arguments))
        return Prepared(call, tool, validated(tool, arguments), arguments)

    def edited(self, prepared: Prepared, arguments: dict[str, object]) -> Prepared | ToolResult:
        """Return the call as the person changed it, checked again by everything that checks calls."""
        return self.prepare(replace(prepared.call, arguments=json.dumps(arguments), error=None))

    async def run(self, prepared: Prepared, tell: Tell) -> ToolResult:
        """Run a reviewed call. Raises nothing but cancellation."""
        started = time.monotonic()
        call = prepared.call
        try:
            output: ToolOutput = await prepared.tool.run(prepared.parameters, tell)
        except (PolicyDenied, ToolFailed, EditError) as error:
            return self.without_success(call, error, time.monotonic() - started)
        except UnicodeEncodeError as error:
            message = f"{call.name} failed: {error.encoding}, which the person's locale wants, cannot write the text."
            return self.failed(call, message, time.monotonic() - started)
        except OSError as error:
            reason = error.strerror or str(error)
            return self.failed(call, f"{call.name} failed: {reason}.", time.monotonic() - started)
        except Exception:  # noqa: BLE001 - the edge: a bug in a tool must not end the session
            _log.exception("tool %s failed", call.name)
            message = f"{call.name} failed because of an internal error; try another way."
            return self.failed(call, message, time.monotonic() - started)
        keep = prepared.tool.keeps_inline
        text = self._results.bound(
            call.name, output.text, keep_inline=bool(keep and keep(prepared.parameters))
        )
        return ToolResult(
            call.id,
            call.name,
            output.ok,
            wrap(call.name, text),
            summary=output.summary,
            display=output.display,
            seconds=time.monotonic() - started,
        )

    def without_success(
        self, call: ToolCall, error: PaiCliError, seconds: float = 0.0
    ) -> ToolResult:
        """Return the result of a call that ended in `error`."""
        if isinstance(error, PolicyDenied):
            return self.refused(call, str(error))
        reason = error.reason if isinstance(error, ToolFailed | EditError) else ""
        return self.failed(call, str(error), seconds, reason)

    def failed(
        self, call: ToolCall, message: str, seconds: float = 0.0, reason: str = ""
    ) -> ToolResult:
        """Return the result of a call that could not be carried out; `reason` is its class, if it has one."""
        summary = t(f"tool.failed_{reason}") if reason else t("tool.failed")
        return replace(
            _without_success(call, f"Error: {message}", summary),
            display=Note(message, "error"),
            seconds=seconds,
        )

    def refused(self, call: ToolCall, reason: str) -> ToolResult:
        """Return the result of a call that a guard or a reviewer refused."""
        text = f"Refused, nothing was done: {reason}"
        return replace(
            _without_success(call, text, t("tool.refused")),
            display=Note(reason, "warning"),
            refused=True,
        )

    def cancelled(self, call: ToolCall, *, started: bool) -> ToolResult:
        """Return the result of a call that the person stopped."""
        text = "Cancelled by the user."
        if started and self.effect(call.name) is not Effect.READ:
            text += " It may have taken effect in part: check before you rely on it."
        return replace(_without_success(call, text, t("tool.cancelled")), cancelled=True)


def _without_success(call: ToolCall, text: str, summary: str) -> ToolResult:
    return ToolResult(call.id, call.name, ok=False, content=wrap(call.name, text), summary=summary)


def _cleaned(value: Any) -> Any:
    """Return JSON data with every text made valid Unicode."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if isinstance(value, dict):
        return {clean(key): _cleaned(item) for key, item in value.items()}
    return value
