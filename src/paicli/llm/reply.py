"""One reply in the making: payloads of a stream in, deltas and a `ChatResponse` out. No I/O."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Iterator
from itertools import count
from typing import Any

from paicli.errors import EmptyReply, ModelError, StreamInterrupted
from paicli.i18n import t
from paicli.llm.arguments import CUT_REASONS
from paicli.llm.calls import CallAssembler, fragments_of
from paicli.llm.deltas import ArgumentsProgress, Delta, ReasoningDelta, TextDelta
from paicli.llm.messages import ChatResponse, Usage
from paicli.llm.text_calls import CallsInText
from paicli.llm.think import ThinkTags
from paicli.secrets import SHORTEST_KEY
from paicli.text import clean

_log = logging.getLogger(__name__)
_decode = json.JSONDecoder(strict=False).decode
_MAX_COUNT = 2**31 - 1
_MAX_MODEL_NAME = 256
_DONE = "[DONE]"
Emit = Callable[[Delta], None]


class Reply:
    """Collects one reply; `take` every payload, then `finish`.

    Raises ModelRefused for an error object in the stream and ModelError for a payload that is no
    JSON. `secret` is taken out of what is said. `shown`: text or reasoning has been emitted, so the request must not be tried again.
    """

    def __init__(
        self,
        emit: Emit,
        offered: Collection[str] = (),
        *,
        text_calls: Collection[str] = (),
        think_tags: bool = False,
        numbers: Iterator[int] | None = None,
        secret: str = "",
    ) -> None:
        self.shown = False
        self.complete = False
        self._emit = emit
        self._calls = CallAssembler(offered)
        self._think = ThinkTags() if think_tags else None
        self._calls_in_text = CallsInText(text_calls, offered, numbers or count(1))
        self._text = _Stream(secret)
        self._reasoning = _Stream(secret)
        self._finish_reason: str | None = None
        self._index: Any = None
        self._usage: Usage | None = None
        self._models: set[str] = set()
        self._last_model = ""

    def take(self, payload: str) -> bool:
        """Take the data of one event; tell whether the reply is over (`[DONE]`)."""
        if payload[:1] != "{":
            bare = payload.strip()
            if bare == _DONE:
                self.complete = True
                return True
            if not bare:
                return False
        try:
            chunk = _decode(payload)
        except (ValueError, RecursionError) as error:
            return self._take_odd(payload, error)
        for part in chunk if isinstance(chunk, list) else (chunk,):
            if isinstance(part, dict):
                self._take_chunk(part)
        return False

    def finish(self) -> ChatResponse:
        """Return the whole reply. Raises StreamInterrupted when it is not whole, EmptyReply when
        it is and holds nothing."""
        if not self.complete:
            raise StreamInterrupted(t("wire.interrupted"), retryable=True)
        if self._think is not None:
            self._say(*self._think.close())
        calls, nameless = self._calls.build(self._finish_reason)
        cut = self._finish_reason in CUT_REASONS
        rest, written = self._calls_in_text.close(has_calls=bool(calls), cut=cut)
        self._say_text(rest)
        self._flush()
        content, reasoning = self._text.whole(), self._reasoning.whole()
        if written:
            content, calls = content.strip(), written
        doubtful = self._calls_in_text.left_over(content)
        if not (content.strip() or reasoning.strip() or calls or nameless):
            raise EmptyReply(t("wire.empty_reply"))
        return ChatResponse(
            content=content,
            reasoning=reasoning,
            tool_calls=calls,
            finish_reason=self._finish_reason,
            usage=self._usage,
            model=next(iter(self._models)) if len(self._models) == 1 else None,
            unexecuted_call=nameless or doubtful,
        )

    def _take_odd(self, payload: str, error: Exception) -> bool:
        """Some servers end an event with one newline: then several payloads arrive as one."""
        lines = payload.split("\n")
        if len(lines) > 1:
            return any(self.take(line) for line in lines)
        if self.complete:
            _log.warning("a payload after the end of the reply is not JSON: %s", error)
            return False
        raise ModelError(t("wire.bad_json"))

    def _take_chunk(self, chunk: dict[str, Any]) -> None:
        choices = chunk.get("choices")
        if not choices or chunk.get("error") is not None:
            from paicli.llm.failures import refused_in_stream

            failure = refused_in_stream(chunk)
            if failure is not None:
                raise failure
        self._take_usage(chunk)
        model = chunk.get("model")
        if model and model != self._last_model:
            self._note_model(model)
        if choices and isinstance(choices, list) and (choice := self._choice_of(choices)):
            self._take_choice(choice)

    def _take_usage(self, source: dict[str, Any]) -> None:
        usage = source.get("usage")
        if usage:
            self._usage = usage_of(usage) or self._usage

    def _take_choice(self, choice: dict[str, Any]) -> None:
        self._take_usage(choice)
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            delta = choice.get("message")
        if delta and isinstance(delta, dict):
            self._take_delta(delta)
        finish = choice.get("finish_reason")
        if finish and isinstance(finish, str) and finish.strip():
            self.complete = True
            if self._finish_reason not in CUT_REASONS:
                self._finish_reason = clean(finish).strip()[:_MAX_MODEL_NAME]

    def _choice_of(self, choices: list[Any]) -> dict[str, Any] | None:
        """Return the part of a chunk that belongs to our reply; a second answer was never asked for."""
        answers = [choice for choice in choices if isinstance(choice, dict)]
        for choice in answers:
            index = choice.get("index")
            if self._index is None:
                self._index = 0 if any(other.get("index") == 0 for other in answers) else index
            if index is None or index == self._index:
                return choice
        return None

    def _note_model(self, model: Any) -> None:
        if isinstance(model, str):
            self._last_model = model
            if len(self._models) < 2:
                self._models.add(clean(model).strip()[:_MAX_MODEL_NAME])

    def _take_delta(self, delta: dict[str, Any]) -> None:
        reasoning = _reasoning_of(delta)
        if reasoning:
            if self._think is not None:
                self._think.reasoning_came()
            self._say_reasoning(reasoning)
        content = delta.get("content")
        if content:
            if isinstance(content, str):
                self._take_content(content)
            elif isinstance(content, list):
                self._take_parts(content)
        refusal = delta.get("refusal")
        if refusal and isinstance(refusal, str):
            self._take_content(refusal)
        if "tool_calls" in delta or "function_call" in delta:
            self._take_calls(delta)

    def _take_calls(self, delta: dict[str, Any]) -> None:
        if self._text.held or self._reasoning.held:
            self._flush()
        for fragment in fragments_of(delta):
            progress = self._calls.add(fragment)
            if progress is not None:
                self._emit(ArgumentsProgress(*progress))

    def _take_parts(self, parts: list[Any]) -> None:
        for part in parts:
            if not isinstance(part, dict):
                continue
            thinking = part.get("thinking")
            if isinstance(thinking, list):
                thinking = "".join(
                    inner["text"]
                    for inner in thinking
                    if isinstance(inner, dict) and isinstance(inner.get("text"), str)
                )
            if thinking and isinstance(thinking, str):
                self._say_reasoning(thinking)
            elif isinstance(part.get("text"), str):
                self._take_content(part["text"])

    def _take_content(self, text: str) -> None:
        if self._think is not None and self._think.watching:
            self._say(*self._think.feed(text))
        else:
            self._say_text(self._calls_in_text.feed(text))

    def _say(self, reasoning: str, text: str) -> None:
        if reasoning:
            self._say_reasoning(reasoning)
        if text:
            self._say_text(self._calls_in_text.feed(text))

    def _say_reasoning(self, text: str) -> None:
        if self._text.held:
            self._flush()
        text = self._reasoning.add(text)
        if text:
            self.shown = True
            self._emit(ReasoningDelta(text))

    def _say_text(self, text: str) -> None:
        if text:
            if self._reasoning.held:
                self._flush()
            text = self._text.add(text)
            if text:
                self.shown = True
                self._emit(TextDelta(text))

    def _flush(self) -> None:
        """Let out what waited for more that never came."""
        for stream, kind in ((self._reasoning, ReasoningDelta), (self._text, TextDelta)):
            rest = stream.rest()
            if rest:
                self.shown = True
                self._emit(kind(rest))


class _Stream:
    """A text that grows; a surrogate pair cut in two between deltas becomes one character.

    The key of the provider is masked wherever it stands, cut in two or not: some gateways answer
    what is wrong with a key as if a model said it.
    """

    __slots__ = ("_begin", "_half", "_parts", "_secret", "held")

    def __init__(self, secret: str = "") -> None:
        self._parts: list[str] = []
        self._half = ""
        self.held = ""
        """What may be the beginning of the key."""
        self._secret = secret if len(secret) >= SHORTEST_KEY else ""
        self._begin = self._secret[:2]

    def add(self, text: str) -> str:
        """Take a piece; return what can be shown of it now."""
        if self._half or not text.isascii():
            text, self._half = self._half + text, ""
            if "\ud800" <= text[-1] <= "\udbff":
                text, self._half = text[:-1], text[-1]
            text = clean(text)
        begin = self._begin
        if begin and (self.held or begin in text or text[-1:] == begin[0]):
            text = self._masked(self.held + text)
        self._parts.append(text)
        return text

    def rest(self) -> str:
        text, self._half, self.held = self.held + clean(self._half), "", ""
        self._parts.append(text)
        return text

    def whole(self) -> str:
        return "".join(self._parts)

    def _masked(self, text: str) -> str:
        secret = self._secret
        text = text.replace(secret, "***")
        at = text.find(secret[0], max(len(text) - len(secret) + 1, 0))
        while at >= 0 and not secret.startswith(text[at:]):
            at = text.find(secret[0], at + 1)
        self.held = text[at:] if at >= 0 else ""
        return text[:at] if at >= 0 else text


def _reasoning_of(delta: dict[str, Any]) -> str:
    for name in ("reasoning_content", "reasoning"):
        text = delta.get(name)
        if text and isinstance(text, str):
            return text
    details = delta.get("reasoning_details")
    if not details or not isinstance(details, list):
        return ""
    texts = [
        detail.get("text") or detail.get("content")
        for detail in details
        if isinstance(detail, dict)
    ]
    return "".join(text for text in texts if isinstance(text, str))


def usage_of(value: Any) -> Usage | None:
    """Return the tokens of a `usage` object; None unless both counts are proper numbers."""
    if not isinstance(value, dict):
        return None
    prompt, completion = _count(value.get("prompt_tokens")), _count(value.get("completion_tokens"))
    if prompt is None or completion is None:
        return None
    sources = [
        value.get("cached_tokens"),
        value.get("prompt_cache_hit_tokens"),
        value.get("input_cache_hit_tokens"),
    ]
    for name in ("prompt_tokens_details", "input_tokens_details"):
        details = value.get(name)
        sources.append(details.get("cached_tokens") if isinstance(details, dict) else None)
    counts = [count for count in map(_count, sources) if count is not None]
    return Usage(prompt, completion, counts[-1] if counts else 0)


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value <= _MAX_COUNT else None
