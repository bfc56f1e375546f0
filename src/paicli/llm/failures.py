"""What a server's refusal means, in words that a person can act on; never with the key in them."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from typing import Any

from paicli.errors import ModelRefused
from paicli.i18n import t
from paicli.llm.retry import status_is_retryable, words_are_retryable
from paicli.secrets import redact
from paicli.text import clean, one_line

_MAX_WORDS = 400
_MAX_BODY = 65_536
_MAX_ODD_PART = 0.1
"""Of the characters of a text; with more that are no text in any encoding it is data of another kind."""
_KEY_FRAGMENT = 8
_TOKEN = re.compile(r"[A-Za-z0-9_\-*.…]{6,}")
_MASKED = re.compile(r"[\w-]*(?:\*{2,}|\.{3}|…)[\w-]+|[\w-]+(?:\*{2,})[\w-]*")
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.I | re.S)

_OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|context[\s_-]?window[\s_-]?exceeded"
    r"|(?:maximum|max|available|model'?s?)\s+(?:context|prompt|input|sequence)\s*(?:length|size|window)"
    r"|context (?:length|size|window)"
    r"|max_model_len|prompt (?:is )?too long|input (?:is )?too long|request too large"
    r"|too many (?:input )?tokens|reduce the length|input length|input tokens? exceed"
    r"|exceeds? the (?:limit|maximum) .{0,40}tokens?|string too long"
    r"|exceed\w* (?:the )?model(?:'s)? token limit"
    r"|上下文.{0,12}(?:超|长)|(?:超过|超出|超长).{0,16}(?:上下文|长度|token)"
    r"|(?:输入|长度|prompt|token).{0,8}(?:超|过长)",
    re.I,
)
_NOT_OVERFLOW = re.compile(r"per (?:minute|day|second)|rate.?limit|quota|TPM|RPM|限流|频率", re.I)


def is_context_overflow(status: int | None, words: str) -> bool:
    """Tell whether an error says that the conversation is too long for the model."""
    if status == 413:
        return not _NOT_OVERFLOW.search(words)
    if status in (401, 402, 403, 404, 408, 429):
        return False
    return bool(_OVERFLOW.search(words)) and not _NOT_OVERFLOW.search(words)


def refused_by_status(
    status: int, body: bytes, *, url: str, key: str, variable: str, retry_after: float | None
) -> ModelRefused:
    """Return the error for an HTTP answer that is none of 2xx. `body` may be cut."""
    text = body[:_MAX_BODY].decode("utf-8", "replace")
    told = provider_words(text)
    overflow = is_context_overflow(status, f"{told} {text}")
    words = safe_words(told, key).rstrip(".。") or t("wire.no_words")
    kind = status if status in (401, 402, 403, 404, 413, 429) else 0
    if overflow:
        message = t("wire.http_overflow", status=status, words=words)
    elif kind:
        message = t(f"wire.http_{kind}", words=words, url=url, variable=variable or "API_KEY")
    elif status >= 500:
        message = t("wire.http_5xx", status=status, words=words)
    elif 300 <= status < 400:
        message = t("wire.http_3xx", status=status, url=url)
    else:
        message = t("wire.http_other", status=status, words=words)
    return ModelRefused(
        message,
        status=status,
        retryable=status_is_retryable(status) and not overflow,
        retry_after=retry_after,
        context_overflow=overflow,
    )


def refused_in_stream(chunk: Mapping[str, Any]) -> ModelRefused | None:
    """Return the error that a payload carries, or None when it carries none."""
    error = chunk.get("error")
    if not error:
        is_error = chunk.get("object") == "error" or (
            "choices" not in chunk
            and any(isinstance(chunk.get(name), str) for name in ("message", "msg", "detail"))
        )
        if not is_error:
            return None
        error = chunk
    fields: Mapping[str, Any] = error if isinstance(error, dict) else {}
    status = _status(fields.get("status"))
    if status is None:
        status = _status(fields.get("code"))
    everything = error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)
    overflow = is_context_overflow(status, everything)
    if status is None:
        hints = [fields.get("code"), fields.get("type"), fields.get("message")]
        told = error if isinstance(error, str) else " ".join(str(hint) for hint in hints if hint)
        retryable = words_are_retryable(told)
    else:
        retryable = status_is_retryable(status)
    words = safe_words(provider_words(json.dumps(chunk)), "").rstrip(".。") or t("wire.no_words")
    key = "wire.stream_overflow" if overflow else "wire.stream_error"
    return ModelRefused(
        t(key, words=words),
        status=status,
        retryable=retryable and not overflow,
        context_overflow=overflow,
    )


def provider_words(text: str) -> str:
    """Return the explanation in an error's body: the message of JSON, the title of a page, the text."""
    stripped = text.strip()
    try:
        content = json.loads(stripped, strict=False)
    except (ValueError, RecursionError):
        if stripped[:200].lower().lstrip("\ufeff \r\n").startswith(("<!doctype", "<html", "<")):
            title = _TITLE.search(stripped)
            return html.unescape(title[1]).strip() if title else t("wire.a_page")
        return stripped
    return _message_in(content) or stripped


def safe_words(text: str, key: str) -> str:
    """Return foreign words on one line, bounded, with control characters visible and no key in them.

    What is no text at all is only named.
    """
    text = re.sub(r"\s+", " ", clean(text[: _MAX_WORDS * 8])).strip()
    odd = text.count("\ufffd") + text.count("\0")
    if odd > 2 and odd > len(text) * _MAX_ODD_PART:
        return t("wire.not_text")
    text = one_line(_without_key(redact(text), key))
    return text if len(text) <= _MAX_WORDS else text[:_MAX_WORDS] + "…"


def _message_in(content: Any, depth: int = 0) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list) and content:
        return _message_in(content[0], depth + 1) if depth < 4 else ""
    if not isinstance(content, dict) or depth > 4:
        return ""
    for name in ("error", "message", "msg", "detail", "error_msg", "errorMsg", "reason"):
        if content.get(name):
            found = _message_in(content[name], depth + 1)
            if found:
                raw = content.get("metadata")
                inner = raw.get("raw") if isinstance(raw, dict) else None
                return f"{found}: {inner}" if isinstance(inner, str) else found
    return ""


def _status(value: Any) -> int | None:
    if isinstance(value, str) and value.isdecimal() and len(value) == 3:
        value = int(value)
    return value if type(value) is int and 100 <= value <= 599 else None


def _without_key(text: str, key: str) -> str:
    """Take out the key, also where the provider shows only a part of it (`sk-ab**…**yz`)."""
    if len(key) < 4:
        return text
    text = text.replace(key, "***")
    text = _MASKED.sub("***", text)

    def masked(match: re.Match[str]) -> str:
        token = match[0]
        size = min(_KEY_FRAGMENT, len(key))
        shared = any(token[at : at + size] in key for at in range(len(token) - size + 1))
        ends = token.strip("*.…")
        edge = len(ends) >= 6 and (key.startswith(ends) or key.endswith(ends))
        return "***" if shared or edge else token

    return _TOKEN.sub(masked, text)
