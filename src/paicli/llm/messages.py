"""The conversation's values, and how each becomes bytes on the wire (once)."""

from __future__ import annotations

import json
from dataclasses import field
from typing import Literal

from paicli.values import value

Role = Literal["system", "user", "assistant", "tool"]


@value
class ToolCall:
    """A tool the model wants to be run.

    `arguments` is always the text of one JSON object, so that the history stays legal. When the
    model's own text was not, `arguments` is `{}` and `error` tells the model why nothing ran.
    """

    id: str
    name: str
    arguments: str
    error: str | None = None


@value
class Usage:
    """Tokens of one request as the provider counted them; `cached` is a part of `input`."""

    input: int = 0
    output: int = 0
    cached: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input, self.output + other.output, self.cached + other.cached
        )


@value
class Message:
    """One message of the conversation. Frozen: what was sent stays as it was sent.

    `reasoning` belongs to assistant messages, `tool_call_id` to tool messages. `source` says who
    put the message there (`user_input`, `llm_response`, `tool_execution`, `runaway_reminder` …);
    it is for the ledger and never sent.
    """

    role: Role
    content: str | None = None
    reasoning: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    source: str = ""
    _wire: dict[bool, bytes] = field(
        default_factory=dict, init=False, repr=False, compare=False, hash=False
    )

    def wire(self, *, with_reasoning: bool) -> bytes:
        """Return the message as JSON bytes, made on first use and kept.

        `with_reasoning`: the provider wants an assistant's `reasoning_content` back.
        """
        with_reasoning = with_reasoning and bool(self.reasoning and self.reasoning.strip())
        kept = self._wire.get(with_reasoning)
        if kept is None:
            kept = self._wire[with_reasoning] = self._serialise(with_reasoning)
        return kept

    def _serialise(self, with_reasoning: bool) -> bytes:
        body: dict[str, object] = {"role": self.role, "content": self.content}
        if with_reasoning:
            body["reasoning_content"] = self.reasoning
        if self.tool_calls:
            body["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
                for call in self.tool_calls
            ]
        if self.tool_call_id is not None:
            body["tool_call_id"] = self.tool_call_id
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


@value
class ChatResponse:
    """One whole reply. `usage` is None when the server sent none; `model` is the one that answered."""

    content: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    usage: Usage | None = None
    model: str | None = None
    unexecuted_call: bool = False
    """The text holds something written like a tool call that was not run."""
