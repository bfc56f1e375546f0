"""Which models there are: the table's, the person's, and those a server names; kept in config.json."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from paicli.config import Settings
from paicli.errors import ConfigError
from paicli.i18n import t
from paicli.llm.discovery import models_at, models_url
from paicli.llm.overrides import EFFORTS, THINKING, check_overrides
from paicli.llm.provider_table import PROVIDERS
from paicli.llm.providers import (
    ModelProfile,
    checked_model_id,
    is_configured,
    known_models,
    profile_of,
    provider_named,
)
from paicli.values import value

_TIMEOUT = 10.0
_LEGACY = frozenset({"deepseek-v4-flash", "deepseek-v4-flash-vision-exp"})
_DISCOVERED = {"source": "discovered"}


@value
class ListedModel:
    """A row of `/model list`. `status` is `available`, `custom`, `discovered`, `legacy` or `unconfigured`."""

    profile: ModelProfile
    status: str


@value
class Addition:
    """A model that a person adds, as `/model add` says it."""

    provider: str
    model: str
    overrides: Mapping[str, Any] = field(default_factory=dict)
    like: str = ""


def list_models(settings: Settings, provider: str = "") -> tuple[ListedModel, ...]:
    """Return every known model, or those of one provider (a name or an alias)."""
    names = [_known_provider(provider)] if provider else list(PROVIDERS)
    rows: list[ListedModel] = []
    for name in names:
        configured = settings.providers.get(name)
        own = configured.models if configured else {}
        for model in known_models(settings, name):
            try:
                profile = profile_of(settings, name, model)
            except ConfigError:
                continue
            rows.append(ListedModel(profile, _status(settings, name, model, own)))
    return tuple(rows)


def _status(settings: Settings, name: str, model: str, own: Mapping[str, Any]) -> str:
    saved = own.get(model)
    if isinstance(saved, Mapping) and saved.get("source") == "discovered":
        return "discovered"
    if not is_configured(settings, name):
        return "unconfigured"
    if model in _LEGACY:
        return "legacy"
    return "available" if model in PROVIDERS[name].catalog else "custom"


async def discover(settings: Settings, provider: str) -> tuple[str, ...]:
    """Ask a provider's server which models it has. Raises ConfigError or ModelError."""
    profile = profile_of(settings, _known_provider(provider), _any_model(settings, provider))
    return await models_at(models_url(profile.url), profile.api_key, seconds=_TIMEOUT)


def _any_model(settings: Settings, provider: str) -> str:
    """Return some id: an address can be asked for its models before one is chosen."""
    name = _known_provider(provider)
    configured = settings.providers.get(name)
    return (configured.model if configured else "") or PROVIDERS[name].model or "any"


def remember_choice(settings: Settings, profile: ModelProfile, *, explicit_model: bool) -> None:
    """Make a provider, and its model when it was named, the choice of later starts.

    Raises ConfigError when it cannot be written; then nothing has changed.
    """

    def change(content: dict[str, Any]) -> None:
        content["defaultProvider"] = profile.provider
        if explicit_model:
            _section(content, profile.provider)["model"] = profile.model

    edit_config(settings.home, change)


def save_discovered(settings: Settings, provider: str, ids: Sequence[str]) -> tuple[str, ...]:
    """Keep ids that a server named; return the new ones. Nothing is ever deleted or switched."""
    name = _known_provider(provider)
    known = set(known_models(settings, name)) | _LEGACY
    new = tuple(model for model in ids if model not in known)

    def change(content: dict[str, Any]) -> None:
        models = _models_of(_section(content, name))
        for model in new:
            models.setdefault(model, dict(_DISCOVERED))

    if new:
        edit_config(settings.home, change)
    return new


def save_addition(settings: Settings, addition: Addition) -> None:
    """Keep a model that a person adds. Raises ConfigError for values that make no sense."""
    name, model = _known_provider(addition.provider), checked_model_id(addition.model)
    overrides: dict[str, Any] = {}
    if addition.like:
        configured = settings.providers.get(name)
        liked = configured.models.get(addition.like) if configured else None
        if addition.like not in known_models(settings, name):
            raise ConfigError(t("wire.unknown_like", value=addition.like, provider=name))
        overrides |= {**(liked or {}), "template": addition.like}
        overrides.pop("source", None)
    overrides |= addition.overrides
    if overrides.get("thinking") == "disabled" and "reasoningEffort" not in addition.overrides:
        overrides.pop("reasoningEffort", None)
    if overrides.get("dsml") is not None and name != "deepseek":
        raise ConfigError(t("wire.dsml_only_deepseek"))
    check_overrides(model, overrides)

    def change(content: dict[str, Any]) -> None:
        _models_of(_section(content, name))[model] = overrides

    edit_config(settings.home, change)


def _switch(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError
    return text.lower() == "true"


def _word(*words: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.lower() not in words:
            raise ValueError
        return text.lower()

    return parse


_OPTIONS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "like": ("", checked_model_id),
    "context": ("contextWindow", int),
    "vision": ("imageInput", _switch),
    "max-output": ("maxOutputTokens", int),
    "thinking": ("thinking", _word(*THINKING)),
    "effort": ("reasoningEffort", _word(*EFFORTS)),
    "reasoning-history": ("reasoningHistory", _switch),
    "dsml": ("dsml", _switch),
}


def parse_addition(words: Sequence[str]) -> Addition:
    """Read the words after `/model add`: PROVIDER ID [--key value | --key=value]…"""
    plain: list[str] = []
    given: dict[str, str] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("--"):
            plain.append(word)
            continue
        name, equals, value = word[2:].partition("=")
        if not equals:
            value = rest.pop(0) if rest else ""
        if name not in _OPTIONS or name in given or not value:
            raise ConfigError(
                t(
                    "wire.bad_option",
                    option=f"--{name}",
                    options=" ".join(f"--{o}" for o in _OPTIONS),
                )
            )
        given[name] = value
    if len(plain) != 2:
        raise ConfigError(t("wire.add_usage"))
    overrides: dict[str, Any] = {}
    for name, value in given.items():
        key, parse = _OPTIONS[name]
        try:
            parsed = parse(value)
        except ValueError:
            raise ConfigError(t("wire.bad_option_value", option=f"--{name}", value=value)) from None
        if key:
            overrides[key] = parsed
    return Addition(_known_provider(plain[0]), plain[1], overrides, given.get("like", ""))


def _known_provider(name: str) -> str:
    found = provider_named(name)
    if found is None:
        raise ConfigError(t("wire.unknown_provider", value=name, providers=", ".join(PROVIDERS)))
    return found


def edit_config(home: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change config.json as one step: the old file or the new one, never half of one.

    What PaiCLI does not know in it stays. Raises ConfigError when it cannot be read or written.
    """
    path = home / "config.json"
    try:
        target = Path(os.path.realpath(path))
        text = target.read_text(encoding="utf-8-sig") if target.exists() else ""
        content = json.loads(text) if text.strip() else {}
        if not isinstance(content, dict):
            raise ValueError(t("config.not_an_object"))
        change(content)
        _replace(target, json.dumps(content, ensure_ascii=False, indent=2) + "\n")
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ConfigError(t("wire.not_saved", path=path, reason=reason)) from None


def _replace(target: Path, text: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
    descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=".config-")
    try:
        with open(descriptor, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(mode)
        Path(temporary).replace(target)
    finally:
        Path(temporary).unlink(missing_ok=True)


def _section(content: dict[str, Any], provider: str) -> dict[str, Any]:
    return _dict_at(_dict_at(content, "providers"), provider)


def _models_of(section: dict[str, Any]) -> dict[str, Any]:
    return _dict_at(section, "models")


def _dict_at(content: dict[str, Any], name: str) -> dict[str, Any]:
    found = content.get(name)
    if not isinstance(found, dict):
        found = content[name] = {}
    return found
