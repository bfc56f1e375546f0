"""Asking a server which models it has."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from paicli.errors import ConfigError, ModelRefused
from paicli.i18n import t
from paicli.llm.providers import checked_model_id

_MAX_BYTES = 1_048_576
_MAX_IDS = 2000


def models_url(chat_url: str) -> str:
    """Return where a server of this chat endpoint lists its models."""
    base, _, query = chat_url.partition("?")
    return base.removesuffix("/chat/completions") + "/models" + (f"?{query}" if query else "")


async def models_at(url: str, key: str, *, seconds: float) -> tuple[str, ...]:
    """Return the ids that a `/models` address lists. The server's own words are never shown."""
    status, content = await fetch_json(url, key, seconds=seconds)
    if status in (404, 405):
        raise ModelRefused(t("wire.no_model_list", url=url), status=status)
    if status in (401, 403):
        raise ModelRefused(t("wire.list_refused", status=status), status=status)
    rows = content.get("data") if isinstance(content, dict) else content
    if status != 200 or not isinstance(rows, list):
        raise ModelRefused(t("wire.bad_model_list", url=url, status=status), status=status)
    ids = [row.get("id") for row in rows[:_MAX_IDS] if isinstance(row, dict)]
    return tuple(dict.fromkeys(i for i in ids if isinstance(i, str) and _is_model_id(i)))


def _is_model_id(text: str) -> bool:
    try:
        return bool(checked_model_id(text))
    except ConfigError:
        return False


async def fetch_json(
    url: str, key: str, *, seconds: float, body: Mapping[str, Any] | None = None
) -> tuple[int, Any]:
    """Get (or, with a body, post to) an address once; return the status and the JSON, None for none.

    No redirects, no second try, at most one megabyte. Raises ModelError when there is no answer.
    """
    from paicli.llm.transport import fetch

    status, data = await fetch(url, key, seconds=seconds, body=body, limit=_MAX_BYTES)
    try:
        return status, json.loads(data)
    except (ValueError, RecursionError):
        return status, None
