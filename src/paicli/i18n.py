"""Words for the person, in their language. The model is always spoken to in English."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

LANGUAGES = ("en", "zh")

_language = "en"
_texts: dict[str, dict[str, str]] = {}


def detect(environ: Mapping[str, str]) -> str:
    """Return the language that the locale variables ask for; English when they do not say."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := environ.get(name):
            return "zh" if value.lower().startswith("zh") else "en"
    return "en"


def use(language: str) -> None:
    """Speak `language` from now on; it must be one of `LANGUAGES`."""
    global _language
    if language not in LANGUAGES:
        raise ValueError(f"unknown language: {language}")
    _language = language


def language() -> str:
    """Return the language in use."""
    return _language


def t(key: str, **values: object) -> str:
    """Return the text of `key` (`section.name`) in the language in use, with `{name}`s filled in."""
    text = load(_language)[key]
    return text.format_map(values) if values else text


def load(language: str) -> dict[str, str]:
    """Return all texts of a language, keyed by `section.name`."""
    if language not in _texts:
        file = Path(__file__).with_name("locales") / f"{language}.toml"
        sections = tomllib.loads(file.read_text(encoding="utf-8"))
        _texts[language] = {
            f"{section}.{name}": text
            for section, names in sections.items()
            for name, text in names.items()
        }
    return _texts[language]
