"""Secrets: which names hold them, and their removal from anything that is written or shown."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

_SECRET_ENDINGS = (
    "_API_KEY", "_APIKEY", "_AUTH_TOKEN", "_ACCESS_TOKEN", "_REFRESH_TOKEN", "_TOKEN",
    "_SECRET", "_SECRET_KEY", "_PASSWORD", "_PASSWD",
)  # fmt: skip
_SECRET_PARTS = ("PRIVATE_KEY", "SECRET_ACCESS_KEY", "CLIENT_SECRET")
_SECRET_NAMES = frozenset({"AUTHORIZATION", "API_KEY", "APIKEY", "PASSWORD", "SECRET", "TOKEN"})

_PATTERNS = (
    re.compile(r"(?i)(\bbearer\s+)[^\s\"',;]{6,}"),
    re.compile(
        r"(?i)(\b[\w-]*(?:api[_-]?key|token|secret|password|passwd|authorization)"
        r"[\"']?\s*[:=]\s*[\"']?)(?!bearer\b)[^\s\"',;&]{4,}"
    ),
    re.compile(r"()\bsk-[A-Za-z0-9_-]{8,}"),
    re.compile(
        r"()-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.S
    ),
)
_MASK = "***"
SHORTEST_KEY = 16
"""A shorter one is the placeholder of a server on this machine, and may be an ordinary word."""

T = TypeVar("T")

_known: set[str] = set()


def is_secret_name(name: str) -> bool:
    """Tell whether an environment variable of this name holds a secret (the original's list)."""
    upper = name.upper()
    return (
        upper in _SECRET_NAMES
        or upper.endswith(_SECRET_ENDINGS)
        or any(part in upper for part in _SECRET_PARTS)
    )


def remember(value: str) -> None:
    """Remember a secret of this process (an API key), so that `redact` removes it wherever it stands."""
    if len(value.strip()) >= 6:
        _known.add(value.strip())


def redact(text: str) -> str:
    """Return `text` without remembered secrets and without what looks like one."""
    for value in sorted(_known, key=len, reverse=True):
        text = text.replace(value, _MASK)
    for pattern in _PATTERNS:
        text = pattern.sub(lambda match: match[1] + _MASK, text)
    return text


def masked(value: T) -> T:
    """Return what a person is shown without the keys of this process: texts, and values made of them.

    Only remembered keys go: code is full of what looks like a secret, and is to be shown as it is.
    """
    keys = [key for key in _known if len(key) >= SHORTEST_KEY]
    return _without(value, sorted(keys, key=len, reverse=True)) if keys else value


def _without(value: Any, keys: list[str]) -> Any:
    if isinstance(value, str):
        for key in keys:
            value = value.replace(key, _MASK)
        return value
    if isinstance(value, tuple):
        return tuple(_without(item, keys) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: getattr(value, field.name) for field in fields(value)}
        changed = {name: new for name, old in parts.items() if (new := _without(old, keys)) != old}
        return replace(value, **changed) if changed else value
    return value
