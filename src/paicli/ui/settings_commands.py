"""`/config` and `/theme`: what is set, by whom, and setting it for later starts."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from paicli.config import PROVIDER_PREFIXES, Loaded, Settings
from paicli.config_files import Found
from paicli.display import Display, Note, Table
from paicli.errors import ConfigError
from paicli.i18n import t
from paicli.llm.models import edit_config
from paicli.llm.providers import chat_url, checked_model_id
from paicli.text import one_line
from paicli.ui.commands import Command, Setting
from paicli.ui.theme import THEMES

_UNSET = "--unset"
_SAVED_AS = {"MODEL": "model", "BASE_URL": "baseUrl", "LORA_ID": "loraId"}
_PASSWORD = re.compile(r"(?<=//)[^/@\s]*(?=@)")
_LONG_KEY = 16


class SettingsCommands:
    """What `/config` and `/theme` do. `load` looks every setting up anew."""

    def __init__(self, load: Callable[[], Loaded]) -> None:
        self._load = load

    def commands(self) -> tuple[Command, ...]:
        """Return the rows for the table of commands."""
        return (
            Command(
                "config",
                "[NAME [VALUE]]",
                "command.config",
                self._config,
                during_task=True,
                choices=lambda _: tuple(Settings.variables()),
            ),
            Command(
                "theme",
                f"[{'|'.join(THEMES)}]",
                "command.theme",
                self._theme,
                during_task=True,
                choices=lambda _: THEMES,
            ),
        )

    async def _config(self, at: Setting, argument: str) -> None:
        word, _, value = argument.partition(" ")
        if not word:
            at.screen.say(*self._all())
            return
        name, value = _known(word), value.strip()
        if not value:
            at.screen.say(Note(self._one(name)))
            return
        keep_setting(at.actions.home, name, "" if value == _UNSET else value)
        at.screen.say(Note(t("settings.kept")))
        found = self._load().changed.get(name)
        if found is not None and found.origin != str(at.actions.home / "config.json"):
            at.screen.say(Note(t("settings.wins", origin=one_line(found.origin)), "warning"))

    def _all(self) -> list[Display]:
        changed = self._load().changed
        how = Note(t("settings.how"))
        if not changed:
            return [Note(t("settings.all_default")), how]
        rows = tuple(
            (name, _shown(name, found), one_line(found.origin)) for name, found in changed.items()
        )
        columns = tuple(t(f"settings.column_{name}") for name in ("name", "value", "origin"))
        return [Table(columns, rows), how]

    def _one(self, name: str) -> str:
        default = Settings.variables()[name]
        found = self._load().changed.get(name)
        if found is None:
            return t("settings.is_default", name=name, value=default)
        value, origin = _shown(name, found), one_line(found.origin)
        return t("settings.is", name=name, value=value, origin=origin, default=default)

    async def _theme(self, at: Setting, argument: str) -> None:
        word = argument.lower()
        if not word:
            at.screen.say(Note(t("settings.theme_is", name=self._load().settings.theme)))
            return
        if word not in THEMES:
            names = ", ".join(THEMES)
            at.screen.say(
                Note(t("settings.theme_unknown", word=one_line(word), names=names), "error")
            )
            return
        at.screen.use_theme(word)
        try:
            keep_setting(at.actions.home, "PAICLI_THEME", word)
        except ConfigError as error:
            at.screen.say(Note(t("command.not_kept", reason=error), "warning"))
        at.screen.say(Note(t("settings.theme_is", name=word)))


def keep_setting(home: Path, name: str, value: str) -> None:
    """Keep a setting in config.json; an empty value takes it out again.

    Raises ConfigError for a value that makes no sense, or when it cannot be written.
    """
    if name.endswith("_API_KEY"):
        raise ConfigError(t("settings.keys_elsewhere"))
    if value:
        _check(name, value)
    provider, suffix = _of_provider(name)

    def change(content: dict[str, Any]) -> None:
        place, key = content, name
        if name == "PAICLI_PROVIDER":
            key = "defaultProvider"
        elif provider:
            for step in ("providers", provider):
                if not isinstance(place.get(step), dict):
                    place[step] = {}
                place = place[step]
            key = _SAVED_AS[suffix]
        content.pop(name, None)
        if value:
            place[key] = value
        else:
            place.pop(key, None)

    edit_config(home, change)


def _check(name: str, value: str) -> None:
    for spec in dataclasses.fields(Settings):
        if spec.metadata.get("variable") == name:
            try:
                spec.metadata["parse"](value)
            except ValueError as error:
                raise ConfigError(
                    t("settings.bad_value", name=name, value=one_line(value), want=error)
                ) from None
    if name.endswith("_BASE_URL"):
        chat_url(value, name)
    elif name.endswith("_MODEL") and _of_provider(name)[0]:
        checked_model_id(value)


def _of_provider(name: str) -> tuple[str, str]:
    """Return the provider that a variable belongs to, and what it says of it; empty for none."""
    for provider, prefixes in PROVIDER_PREFIXES.items():
        for prefix in prefixes:
            suffix = name.removeprefix(f"{prefix}_")
            if suffix in _SAVED_AS:
                return provider, suffix
    return "", ""


def _known(word: str) -> str:
    """Return the variable that a person means. Raises ConfigError when there is none."""
    names = Settings.variables()
    for name in (word.upper(), f"PAICLI_{word.upper()}"):
        if name in names:
            return name
    from difflib import get_close_matches

    near = get_close_matches(word.upper(), list(names), n=3, cutoff=0.5)
    raise ConfigError(
        t("settings.unknown", word=one_line(word), names=", ".join(near) or ".env.example")
    )


def _shown(name: str, found: Found) -> str:
    """Return a value as it may be seen."""
    if name.endswith("_API_KEY"):
        return f"…{found.value[-4:]}" if len(found.value) >= _LONG_KEY else "…"
    return one_line(_PASSWORD.sub("***", found.value))
