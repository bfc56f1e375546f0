"""When a failed request may be tried again, and how long to wait before."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import UTC, datetime

RETRYABLE_STATUS = frozenset({408, 429, 500, 502, 503, 504})
_RETRYABLE_WORDS = (
    "rate_limit", "too many requests", "overloaded", "server_error", "temporarily unavailable",
    "timeout",
)  # fmt: skip


def status_is_retryable(status: int) -> bool:
    """Tell whether a later try may succeed after this HTTP status."""
    return status in RETRYABLE_STATUS


def words_are_retryable(text: str) -> bool:
    """Tell whether the words of an error without a status speak of a passing trouble."""
    lowered = text.lower()
    return any(word in lowered for word in _RETRYABLE_WORDS)


def wait_before(attempt: int, base_ms: int, cap_ms: int, retry_after: float | None) -> float:
    """Return the seconds to wait before attempt number `attempt` (the first retry is 2).

    What the server asked for is kept up to the cap; otherwise the wait doubles each time, with a
    jitter of half of it, so that many clients do not come back at the same moment.
    """
    if retry_after is not None:
        return min(retry_after, cap_ms / 1000)
    full = min(base_ms * 2.0 ** (attempt - 2), cap_ms) / 1000
    return full * random.uniform(0.5, 1.0)


def asked_to_wait(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a response's headers ask to wait, if they do.

    `headers` must be looked up regardless of case. `retry-after` is seconds or a date.
    """
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after", "")
    seconds = _number(value)
    if seconds is not None or not value:
        return seconds
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, TypeError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < 1e9 else None
