"""The message list. Nothing else changes it, and it is legal before every request.

Legal: every tool call has its result, in order, right behind the message that asked for it; no
assistant message is empty; every call's arguments are the text of a JSON object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Protocol

from paicli.llm.messages import Message, ToolCall

SYSTEM_PROMPT = "system_prompt"
USER_INPUT = "user_input"
LLM_RESPONSE = "llm_response"
TOOL_EXECUTION = "tool_execution"

_ADDED = re.compile(r"\n\n(?:\[PaiCLI\] |<(?:file|directory) path=\")")
"""Where in a message of the person's begins what the program put behind their words."""


def own_words(content: str) -> str:
    """Return what the person typed of a message: without attachments and remarks to the model."""
    return _ADDED.split(content, maxsplit=1)[0]


class Record(Protocol):
    """Where the conversation is written down; `session.ledger.Ledger` is the one on disk."""

    def message(self, message: Message) -> None: ...

    def rewritten(self, why: str, messages: Sequence[Message]) -> None: ...


class Conversation:
    """An append-only list of messages that begins with the system prompt.

    Every message is recorded before it can be sent. Only `rewrite` changes what was there, and
    says why (`clear`, `compaction`, `rewind`).
    """

    def __init__(self, record: Record, messages: Sequence[Message] = ()) -> None:
        self._record = record
        self._messages = list(messages)

    @property
    def messages(self) -> Sequence[Message]:
        """Return the messages, oldest first. Do not change them."""
        return self._messages

    def append(self, message: Message) -> None:
        """Add a message; tool results belong to `answer`."""
        self._record.message(message)
        self._messages.append(message)

    def answer(self, call_id: str, content: str) -> None:
        """Add the result of a call."""
        self.append(Message("tool", content, tool_call_id=call_id, source=TOOL_EXECUTION))

    def typed(self) -> int:
        """Return how many messages the person sent."""
        return sum(message.source == USER_INPUT for message in self._messages)

    def open_calls(self) -> list[ToolCall]:
        """Return the calls of the last assistant message that have no result yet."""
        answered: set[str] = set()
        for message in reversed(self._messages):
            if message.role == "tool" and message.tool_call_id:
                answered.add(message.tool_call_id)
                continue
            return [call for call in message.tool_calls if call.id not in answered]
        return []

    def close_open_calls(self, content: str) -> None:
        """Give every open call `content` as its result."""
        for call in self.open_calls():
            self.answer(call.id, content)

    def rewind(self, count: int) -> str:
        """Go back to before the person's `count`-th last message and return that message's text.

        Raises ValueError when there are fewer.
        """
        typed = [i for i, message in enumerate(self._messages) if message.source == USER_INPUT]
        if not 1 <= count <= len(typed):
            raise ValueError(f"there are {len(typed)} messages")
        place = typed[-count]
        text = self._messages[place].content or ""
        self.rewrite("rewind", self._messages[:place])
        return text

    def rewrite(self, why: str, messages: Sequence[Message]) -> None:
        """Replace all messages."""
        self._record.rewritten(why, messages)
        self._messages = list(messages)


def repaired(messages: Sequence[Message]) -> list[Message]:
    """Return a list that providers accept, whatever a damaged session file held.

    Calls without a result get one that says so, results without a call and empty messages are left
    out, results follow the order of their calls, arguments that are no JSON object become `{}`. The
    system prompt comes first, and there is only one.
    """
    legal: list[Message] = []
    open_calls: list[_OpenCall] = []

    def close() -> None:
        legal.extend(call.answer() for call in open_calls)
        open_calls.clear()

    for message in _system_prompt_first(messages):
        if message.role == "tool":
            for call in open_calls:
                if call.id == message.tool_call_id and call.result is None:
                    call.result = message
                    break
            continue
        close()
        if (message.content or "").strip() or message.tool_calls:
            sent, open_calls[:] = _with_legal_calls(message)
            legal.append(sent)
    close()
    return legal


@dataclass(slots=True)
class _OpenCall:
    """A call by the id that the file has for it, and by the one that is sent."""

    id: str
    sent_id: str
    result: Message | None = None

    def answer(self) -> Message:
        """Return the result, or one that says that there is none."""
        result = self.result
        if result is not None and result.content is not None and self.id == self.sent_id:
            return result
        text = "Unknown: the session ended before this call finished."
        if result is not None:
            text = result.content or ""
        return Message("tool", text, tool_call_id=self.sent_id, source=TOOL_EXECUTION)


def _system_prompt_first(messages: Sequence[Message]) -> list[Message]:
    system = [message for message in messages if message.role == "system" and message.content]
    return system[:1] + [message for message in messages if message.role != "system"]


def _with_legal_calls(message: Message) -> tuple[Message, list[_OpenCall]]:
    """Return the message with calls that can be sent, and these calls."""
    calls: list[ToolCall] = []
    for call in message.tool_calls:
        used = {other.id for other in calls}
        candidates = chain([call.id], (f"{call.id}_{number}" for number in count(2)))
        sent_id = next(candidate for candidate in candidates if candidate and candidate not in used)
        calls.append(
            ToolCall(sent_id, call.name, call.arguments if _is_object(call.arguments) else "{}")
        )
    opened = [
        _OpenCall(call.id, sent.id) for call, sent in zip(message.tool_calls, calls, strict=True)
    ]
    if tuple(calls) != message.tool_calls:
        message = Message(
            message.role, message.content, message.reasoning, tuple(calls), source=message.source
        )
    return message, opened


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False
