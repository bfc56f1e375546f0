"""The colours: the sixteen of the person's own palette, and darker ones where the background is light."""

from __future__ import annotations

import re
from collections.abc import Mapping

THEMES = ("auto", "dark", "light", "none")

_LIGHT_BACKGROUNDS = ("7", "15")
_SEQUENCE = re.compile(r"\x1b\[([\d;]*)m")
_DARKER = {
    "31": "124", "32": "22", "33": "94", "34": "18", "35": "90", "36": "24", "37": "238",
    "91": "124", "92": "28", "93": "94", "94": "25", "95": "90", "96": "30", "97": "235",
}  # fmt: skip
"""By the number of a colour that is hard to read on white: one of the 256 that is not."""
_DARKER_NAMES = {
    "ansired": "#af0000",
    "ansigreen": "#005f00",
    "ansiyellow": "#875f00",
    "ansicyan": "#005f87",
}


def chosen(environ: Mapping[str, str], wanted: str) -> str:
    """Return the theme to draw in; `auto`: what the terminal says. Without colours, it is `none`."""
    if environ.get("NO_COLOR") or environ.get("TERM", "") in ("", "dumb"):
        return "none"
    return detected(environ) if wanted == "auto" else wanted


def detected(environ: Mapping[str, str]) -> str:
    """Return the theme for the terminal: light when it says that its background is.

    The terminal is not asked: an answer that comes late would be taken for keys.
    """
    background = environ.get("COLORFGBG", "").rpartition(";")[2]
    return "light" if background in _LIGHT_BACKGROUNDS else "dark"


def for_light(drawn: str) -> str:
    """Return coloured text in colours that can be read on a light background."""
    return _SEQUENCE.sub(_darker, drawn)


def style_for_light(style: str) -> str:
    """Return one of prompt_toolkit's style texts in such colours."""
    return " ".join(_DARKER_NAMES.get(word, word) for word in style.split(" "))


def _darker(sequence: re.Match[str]) -> str:
    codes = sequence[1].split(";")
    if "38" in codes or "48" in codes:
        return sequence[0]
    return (
        f"\x1b[{';'.join(f'38;5;{_DARKER[code]}' if code in _DARKER else code for code in codes)}m"
    )
