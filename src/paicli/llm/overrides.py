"""What a person sets for one model in config.json, checked and turned into a profile's fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from paicli.errors import ConfigError
from paicli.i18n import t

MIN_CONTEXT, MAX_CONTEXT = 8_000, 10_000_000
MAX_OUTPUT = 1_000_000
_LONGEST_CURRENCY = 4
THINKING = ("auto", "enabled", "disabled")
EFFORTS = ("auto", "low", "medium", "high", "max")


def _whole(low: int, high: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and low <= value <= high


def _is_switch(value: Any) -> bool:
    return isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are_prices(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("currency", ""), str):
        return False
    if len(value.get("currency", "")) > _LONGEST_CURRENCY:
        return False
    amounts = [value.get(name, 0) for name in ("input", "output", "cached")]
    return all(type(amount) in (int, float) and 0 <= amount < 1e9 for amount in amounts)


_CHECKS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "contextWindow": (_whole(MIN_CONTEXT, MAX_CONTEXT), f"{MIN_CONTEXT}-{MAX_CONTEXT}"),
    "maxOutputTokens": (_whole(1, MAX_OUTPUT), f"1-{MAX_OUTPUT}"),
    "thinking": (lambda value: value in THINKING, " | ".join(THINKING)),
    "reasoningEffort": (lambda value: value in EFFORTS, " | ".join(EFFORTS)),
    "reasoningHistory": (_is_switch, "true | false"),
    "imageInput": (_is_switch, "true | false"),
    "dsml": (_is_switch, "true | false"),
    "textCalls": (_is_switch, "true | false"),
    "thinkTags": (_is_switch, "true | false"),
    "tools": (_is_switch, "true | false"),
    "prices": (_are_prices, '{"input": 1.0, "output": 2.0, "cached": 0.1, "currency": "$"}'),
    "template": (_is_text, "text"),
    "source": (_is_text, "text"),
}
_FIELDS = {
    "contextWindow": "context_window",
    "reasoningHistory": "sends_reasoning",
    "imageInput": "images",
    "thinkTags": "think_tags",
    "tools": "tools",
    "dsml": "dsml",
    "textCalls": "calls_in_text",
}


def check_overrides(model: str, wanted: Mapping[str, Any]) -> None:
    """Raise ConfigError for the first value that makes no sense. Unknown names are left alone."""
    if not isinstance(wanted, Mapping):
        raise ConfigError(t("wire.bad_override", model=model, name="models", want="{…}"))
    for name, value in wanted.items():
        check, want = _CHECKS.get(name, (None, ""))
        if check is not None and value is not None and not check(value):
            raise ConfigError(t("wire.bad_override", model=model, name=name, want=want))
    window, output = wanted.get("contextWindow"), wanted.get("maxOutputTokens")
    if window and output and output > window:
        raise ConfigError(
            t("wire.bad_override", model=model, name="maxOutputTokens", want=f"≤ {window}")
        )
    if wanted.get("thinking") == "disabled" and wanted.get("reasoningEffort") not in (None, "auto"):
        raise ConfigError(
            t("wire.bad_override", model=model, name="reasoningEffort", want=t("wire.no_effort"))
        )


def apply_overrides(model: str, body: dict[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the profile's fields that `wanted` changes, its `extra_body` made from `body` among them."""
    check_overrides(model, wanted)
    values = {
        field: wanted[name] for name, field in _FIELDS.items() if wanted.get(name) is not None
    }
    thinking, effort = wanted.get("thinking"), wanted.get("reasoningEffort")
    if thinking == "disabled":
        body["thinking"] = {"type": "disabled"}
        body.pop("reasoning_effort", None)
    elif thinking == "enabled":
        body["thinking"] = {**(body.get("thinking") or {}), "type": "enabled"}
    if effort not in (None, "auto"):
        body["reasoning_effort"] = effort
    if wanted.get("maxOutputTokens"):
        body["max_tokens"] = wanted["maxOutputTokens"]
    values["extra_body"] = body
    prices = wanted.get("prices")
    if prices:
        price = float(prices.get("input", 0))
        values["prices"] = (
            price,
            float(prices.get("output", 0)),
            float(prices.get("cached", price)),
            prices.get("currency") or "$",
        )
    return values
