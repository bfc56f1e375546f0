"""Text on its way to a terminal, a file or the wire: made safe, measured, cut."""

from __future__ import annotations

import re

_SURROGATE = re.compile("[\ud800-\udfff]")
_SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")

# C0 but newline and tab, DEL, C1, and the characters that reorder, hide or split a line of text.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)
_JOINER = "\u200d"


def clean(text: str) -> str:
    """Return `text` as valid Unicode: surrogate pairs joined, lone ones replaced by U+FFFD."""
    if _SURROGATE.search(text) is None:
        return text
    paired = _SURROGATE_PAIR.sub(
        lambda pair: chr(0x10000 + ((ord(pair[0][0]) - 0xD800) << 10) + ord(pair[0][1]) - 0xDC00),
        text,
    )
    return _SURROGATE.sub("\ufffd", paired)


def visible(text: str) -> str:
    """Return `text` with everything that could steer a terminal shown as visible escapes.

    Newline and tab stay, CRLF becomes LF, a zero-width joiner stays between two visible
    characters (it builds emoji). Everything foreign goes through here before it is printed.
    """
    text = clean(text).replace("\r\n", "\n")
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    if character == _JOINER:
        source, place = match.string, match.start()
        before, after = source[place - 1 : place], source[place + 1 : place + 2]
        if before.isprintable() and after.isprintable() and ord(before or "a") > 0x7F:
            return character
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def one_line(text: str) -> str:
    """Return `text` safe to print on a single line: newlines and tabs made visible as well."""
    return visible(text).replace("\n", "⏎").replace("\t", " ")


def width(text: str) -> int:
    """Return how many terminal cells `text` takes (a CJK character takes two)."""
    if text.isascii():
        return len(text)
    from wcwidth import wcswidth, wcwidth

    cells = wcswidth(text)
    return cells if cells >= 0 else sum(max(0, wcwidth(character)) for character in text)


def cut(text: str, cells: int) -> str:
    """Return `text` in at most `cells` terminal cells, ending in `…` when something was cut."""
    if width(text) <= cells:
        return text
    if cells <= 0:
        return ""
    kept: list[str] = []
    used = 0
    for character in text:
        used += width(character)
        if used > cells - 1:
            break
        kept.append(character)
    return "".join(kept) + "…"
