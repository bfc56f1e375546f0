"""A conversation as Markdown, for people to keep and to share."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence

from paicli.llm.messages import Message, ToolCall
from paicli.secrets import redact
from paicli.text import visible

_RESULT_LIMIT = 8_000
_TITLES = {"system": "System", "user": "User", "assistant": "Assistant", "tool": "Tool result"}


def as_markdown(messages: Sequence[Message], title: str) -> str:
    """Return the conversation with reasoning as quotes and calls and results in fences.

    Secrets are removed; a tool result is cut at 8,000 characters (PaiCLI's `/export`).
    """
    parts = [f"# {title}", time.strftime("%Y-%m-%d %H:%M:%S")]
    for message in messages:
        parts.append(f"## {_TITLES[message.role]}")
        if message.reasoning:
            parts.append("\n".join(f"> {line}" for line in message.reasoning.split("\n")))
        if message.content:
            parts.append(_result(message.content) if message.role == "tool" else message.content)
        parts += [_call(call) for call in message.tool_calls]
    return redact(visible("\n\n".join(parts))) + "\n"


def _result(content: str) -> str:
    cut = content[:_RESULT_LIMIT]
    if len(content) > _RESULT_LIMIT:
        cut += f"\n… ({len(content) - _RESULT_LIMIT} characters left out)"
    return _fenced(cut, "text")


def _call(call: ToolCall) -> str:
    arguments = json.dumps(json.loads(call.arguments), indent=2, ensure_ascii=False)
    return f"**{call.name}**\n\n{_fenced(arguments, 'json')}"


def _fenced(body: str, language: str) -> str:
    longest = max((len(run) for run in re.findall(r"`+", body)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{body}\n{fence}"
