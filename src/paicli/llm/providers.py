"""The one model that a run talks to: chosen from the table of providers and the settings."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any
from urllib.parse import urlsplit

from paicli.config import PROVIDER_PREFIXES, ProviderSettings, Settings
from paicli.errors import ConfigError
from paicli.i18n import t
from paicli.llm.overrides import apply_overrides
from paicli.llm.prices import Prices
from paicli.llm.provider_table import DSML, FENCED, MARKED, PROVIDERS
from paicli.values import value

_REVIEW_TOKENS = 400
_MODEL_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,199}")


@value
class ModelProfile:
    """All that one conversation needs to know about the model it talks to."""

    provider: str
    model: str
    url: str
    api_key: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    context_window: int = 128_000
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    sends_reasoning: bool = False
    tools: bool = True
    images: bool = False
    cache_mode: str = "none"
    text_calls: tuple[str, ...] = ()
    think_tags: bool = True
    """`<think>` at the start of the content is shown as reasoning."""
    prices: Prices | None = None
    key_variable: str = ""
    """The variable a person sets for this provider's key; for messages."""


def select(settings: Settings, choice: str = "") -> ModelProfile | None:
    """Return the model to talk to; None when no provider is configured.

    `choice` is MODEL, PROVIDER or PROVIDER/MODEL; empty: the chosen provider of the settings, else
    the first configured one. Raises ConfigError for a choice that names nothing, or a setting that
    makes no sense.
    """
    choice = choice.strip()
    if choice:
        name, model = _resolve(settings, choice)
        if not is_configured(settings, name):
            raise ConfigError(
                t("wire.not_configured", provider=name, variables=_needed_variables(name))
            )
        return profile_of(settings, name, model)
    usual = first_configured(settings)
    return profile_of(settings, usual) if usual else None


def demo_profile() -> ModelProfile:
    """Return the profile of the demo model; its address leads nowhere but to `demo.demo_transport`."""
    return ModelProfile("demo", "demo", "http://demo.invalid/v1/chat/completions")


def first_configured(settings: Settings) -> str | None:
    """Return the provider that is used when nobody chooses."""
    names = [settings.default_provider, *PROVIDER_PREFIXES]
    return next((name for name in names if name and is_configured(settings, name)), None)


def is_configured(settings: Settings, name: str) -> bool:
    """Tell whether a provider has what it takes to be asked."""
    configured = _configured(settings, name)
    if not PROVIDERS[name].needs_key:
        return bool(configured.base_url or configured.model)
    if name == "openai":
        return bool(configured.api_key and (configured.base_url or configured.model))
    return bool(configured.api_key)


def provider_named(name: str) -> str | None:
    """Return the provider a name or an alias stands for."""
    lowered = name.strip().lower()
    if lowered in PROVIDERS:
        return lowered
    return next((row.name for row in PROVIDERS.values() if lowered in row.aliases), None)


def known_models(settings: Settings, name: str) -> tuple[str, ...]:
    """Return the ids of a provider's models: its own, the configured one, and the person's."""
    configured = _configured(settings, name)
    ids = [*PROVIDERS[name].catalog, configured.model, *configured.models]
    return tuple(dict.fromkeys(model for model in ids if model))


def profile_of(settings: Settings, name: str, model: str = "") -> ModelProfile:
    """Return the profile of a provider's model (its configured or usual one when empty)."""
    row, configured = PROVIDERS[name], _configured(settings, name)
    model = model or configured.model or row.model
    variable = PROVIDER_PREFIXES[name][0]
    if not model:
        raise ConfigError(t("wire.no_model", variable=f"{variable}_MODEL"))
    checked_model_id(model)
    _check_key(configured.api_key, f"{variable}_API_KEY")
    special = row.model_row(model)
    base = configured.base_url or special.url or row.base_url
    profile = ModelProfile(
        provider=name,
        model=model,
        url=chat_url(base, f"{variable}_BASE_URL"),
        api_key=configured.api_key,
        headers={"lora_id": configured.lora_id} if configured.lora_id else {},
        context_window=special.context_window or row.context_window,
        extra_body=row.extra_body if special.extra_body is None else special.extra_body,
        sends_reasoning=_either(special.sends_reasoning, row.sends_reasoning),
        tools=row.tools,
        images=_either(special.images, row.images),
        cache_mode=row.cache_mode,
        text_calls=row.text_calls if special.text_calls is None else special.text_calls,
        prices=special.prices,
        key_variable=f"{variable}_API_KEY",
    )
    wanted = configured.models.get(model)
    if wanted is not None:
        profile = _overridden(profile, wanted)
    if settings.context_window:
        profile = dataclasses.replace(profile, context_window=settings.context_window)
    return profile


def for_review(profile: ModelProfile, model: str = "") -> ModelProfile:
    """Return the profile with which the reviews of commands are asked: short, without thinking.

    `model` is another model of the same provider; empty: the same.
    """
    row = PROVIDERS.get(profile.provider)
    model = model or profile.model
    body: dict[str, Any] = dict(profile.extra_body)
    if row is not None and model != profile.model:
        special = row.model_row(checked_model_id(model))
        body = dict(row.extra_body if special.extra_body is None else special.extra_body)
    for field_name in ("reasoning_effort", "thinking", "tool_stream"):
        body.pop(field_name, None)
    if row is not None and row.thinking_switch:
        body["thinking"] = {"type": "disabled"}
    body["max_tokens"] = _REVIEW_TOKENS
    return dataclasses.replace(
        profile,
        model=model,
        extra_body=body,
        sends_reasoning=False,
        tools=False,
        images=False,
        text_calls=(),
    )


def chat_url(base: str, variable: str) -> str:
    """Return the chat endpoint of a base URL: blanks and slashes off, the usual path added.

    Raises ConfigError, naming the variable, for what is no http(s) address.
    """
    text = base.strip().rstrip("/")
    try:
        parts = urlsplit(text)
        usable = parts.scheme.lower() in ("http", "https") and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        usable = False
    if not usable or re.search(r"[\s\x00-\x1f\x7f\"'<>\\]", text):
        raise ConfigError(t("wire.bad_url", variable=variable, value=_without_password(text)))
    path = parts.path.rstrip("/")
    if not path.endswith("/chat/completions"):
        path += "/chat/completions"
    return parts._replace(path=path, fragment="").geturl()


def checked_model_id(model: str) -> str:
    """Return a model id as it is. Raises ConfigError for one that cannot be an id."""
    if _MODEL_ID.fullmatch(model) is None:
        raise ConfigError(t("wire.bad_model", value=model[:200]))
    return model


def _either(special: bool | None, usual: bool) -> bool:
    return usual if special is None else special


def _configured(settings: Settings, name: str) -> ProviderSettings:
    return settings.providers.get(name) or ProviderSettings()


def _needed_variables(name: str) -> str:
    prefix = PROVIDER_PREFIXES[name][0]
    if not PROVIDERS[name].needs_key:
        return f"{prefix}_BASE_URL"
    return f"{prefix}_API_KEY" + (f", {prefix}_MODEL" if name == "openai" else "")


def _check_key(key: str, variable: str) -> None:
    """Refuse a key that cannot stand in a header; the message never shows it."""
    bad = next((character for character in key if not "!" <= character <= "~"), None)
    if bad is None and not any(character in "\"'" for character in key):
        return
    if bad is None:
        reason = t("wire.key_quotes")
    elif bad in "\r\n":
        reason = t("wire.key_newline")
    else:
        reason = t("wire.key_character", code=f"U+{ord(bad):04X}")
    raise ConfigError(t("wire.bad_key", variable=variable, reason=reason))


def _without_password(url: str) -> str:
    return re.sub(r"//[^/@\s]*@", "//***@", url)[:300]


def _resolve(settings: Settings, choice: str) -> tuple[str, str]:
    """Return provider and model ("" for the usual one) of a person's choice."""
    before, slash, after = choice.partition("/")
    if slash and (named := provider_named(before)):
        return named, checked_model_id(after)
    holders = [name for name in PROVIDERS if choice in known_models(settings, name)]
    configured = [name for name in holders if is_configured(settings, name)]
    if len(configured) == 1 or len(holders) == 1:
        return (configured or holders)[0], choice
    if holders:
        qualified = ", ".join(f"{name}/{choice}" for name in holders)
        raise ConfigError(t("wire.ambiguous_model", value=choice, choices=qualified))
    if named := provider_named(choice):
        return named, ""
    checked_model_id(choice)
    for row in PROVIDERS.values():
        if row.prefixes and choice.lower().startswith(row.prefixes):
            return row.name, choice
    usual = first_configured(settings)
    if usual and PROVIDERS[usual].any_model:
        return usual, choice
    raise ConfigError(t("wire.unknown_model", value=choice, providers=", ".join(PROVIDERS)))


def _overridden(profile: ModelProfile, wanted: Mapping[str, Any]) -> ModelProfile:
    values = apply_overrides(profile.model, dict(profile.extra_body), wanted)
    prices = values.pop("prices", None)
    if prices is not None:
        values["prices"] = Prices(*prices)
    forms: tuple[str, ...] | None = None
    if "dsml" in values:
        forms = (DSML,) if values.pop("dsml") else ()
    if "calls_in_text" in values:
        forms = (*(forms or ()), *((MARKED, FENCED) if values.pop("calls_in_text") else ()))
    if forms is not None:
        values["text_calls"] = forms
    return dataclasses.replace(profile, **values)
