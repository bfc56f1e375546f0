"""Words for the person, in their language. The model is always spoken to in English."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

LANGUAGES = ("en", "zh")

_language = "en"
_files: dict[str, dict[str, str]] = {}
_texts: dict[tuple[str, str], dict[str, str]] = {}
_HEADING = re.compile(r"^\[(\w+)\]$", re.MULTILINE)


def detect(environ: Mapping[str, str]) -> str:
    """Return the language that PAICLI_LANG, or else the locale, asks for; English when neither says."""
    wanted = environ.get("PAICLI_LANG", "").strip().lower()
    if wanted in LANGUAGES:
        return wanted
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
    """Return the text of `key` (`section.name`) in the language in use, with `{name}`s filled in.

    Of `one text||another` the first is for the number one, the second for all others; the first
    `{name}` in it says which number.
    """
    section, _, name = key.partition(".")
    text = _section(_language, section)[name]
    if not values:
        return text
    one, divided, many = text.partition("||")
    if divided:
        number = values[text[text.index("{") + 1 : text.index("}")]]
        text = one if number == 1 else many
    return text.format_map(values)


def load(language: str) -> dict[str, str]:
    """Return all texts of a language, keyed by `section.name`."""
    return {
        f"{section}.{name}": text
        for section in _sources(language)
        for name, text in _section(language, section).items()
    }


def _section(language: str, section: str) -> dict[str, str]:
    """Return one section, parsed when it is needed: a start needs few, and all cost more than the rest of it."""
    texts = _texts.get((language, section))
    if texts is None:
        texts = _texts[language, section] = _parsed(_sources(language)[section])
    return texts


def _parsed(section: str) -> dict[str, str]:
    """Read lines of `name = "text"`. What is written in another way is left to tomllib, slow to load and to read."""
    texts: dict[str, str] = {}
    for line in filter(None, section.splitlines()):
        name, _, text = line.partition(" = ")
        try:
            texts[name] = json.loads(text)
        except ValueError:
            import tomllib

            return tomllib.loads(section)
    return texts


def _sources(language: str) -> dict[str, str]:
    """Return the text of each section, not parsed yet. A section begins at a line that is `[name]` alone."""
    if language not in _files:
        file = Path(__file__).with_name("locales") / f"{language}.toml"
        _, *pieces = _HEADING.split(file.read_text(encoding="utf-8"))
        _files[language] = dict(zip(pieces[::2], pieces[1::2], strict=True))
    return _files[language]
