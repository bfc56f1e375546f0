"""Text on its way to a terminal, a file or the wire: made safe, measured, cut, wrapped."""

from __future__ import annotations

import re

_SURROGATE = re.compile("[\ud800-\udfff]")
_SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")

_MOST_MARKS = 8
"""Marks on one letter that are shown as such: more than any language writes, too few to cover lines."""

# C0 but newline and tab, DEL, C1, and the characters that reorder, hide or split a line of text or
# leave a place empty; and more marks on one letter than there can be.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
    "|[\u0300-\u034e\u0350-\u036f\u0483-\u0489\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0e31\u0e34-\u0e3a"
    "\u0e47-\u0e4e\u0eb4-\u0ebc\u0ec8-\u0ece\u0f71-\u0f84\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff"
    f"\ufe20-\ufe2f]{{{_MOST_MARKS + 1},}}"
)
_JOINER = "\u200d"
_SELECTOR = re.compile("[\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
"""What chooses the form of the character before it: an emoji's colours, the variant of an ideograph."""
_WIDE_FORM = "\ufe0f"


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
    characters (it builds emoji) and a variation selector behind one. Everything foreign goes
    through here before it is printed.
    """
    text = clean(text).replace("\r\n", "\n")
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub(_escaped, text)


def escapes(text: str) -> list[tuple[int, int, str]]:
    """Return what `visible` changes in a line: from where to where, and what stands for it."""
    if text.isascii() and text.isprintable():
        return []
    found = ((match.start(), match.end(), _escaped(match)) for match in _UNSAFE.finditer(text))
    return [(start, end, shown) for start, end, shown in found if shown != text[start:end]]


def _escaped(match: re.Match[str]) -> str:
    found = match[0]
    if len(found) > 1:
        return found[:_MOST_MARKS] + "".join(map(_escape, found[_MOST_MARKS:]))
    source, place = match.string, match.start()
    if found == _JOINER:
        after = source[place + 1 : place + 2]
        place -= _SELECTOR.match(source, place - 1) is not None if place > 1 else 0
        keeps = after.isprintable() and _has_form(source[place - 1 : place])
    else:
        keeps = _SELECTOR.match(found) is not None and _has_form(source[place - 1 : place])
    return found if keeps else _escape(found)


def _has_form(character: str) -> bool:
    """Tell whether what hides behind `character` may be about its form: it has ink, and is no ASCII letter."""
    if character.isascii():
        return character != "" and character in "0123456789#*"
    return character.isprintable() and _UNSAFE.match(character) is None


def _escape(character: str) -> str:
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
    before = ""
    for character in text:
        used += _cells_behind(before, character)
        if used > cells - 1:
            break
        kept.append(character)
        before = character
    return "".join(kept) + "…"


def _cells_behind(before: str, character: str) -> int:
    """Return the cells that `character` adds: a selector of an emoji's form widens the one before it."""
    if character == _WIDE_FORM and before:
        return width(before + character) - width(before)
    return width(character)


_NOT_FIRST = frozenset("!%),.:;?]}·’”†‡›℃、。〃々〉》」』】〕〗〞…—–ー！％），．：；？］｝～")
"""No line begins with one of these."""
_NOT_LAST = frozenset("([{‘“〈《「『【〔〖（［｛￥＄")
"""No line ends with one of these."""


def breaks(line: str, cells: int) -> list[int]:
    """Return where to cut `line` so that each piece fits `cells`; blanks at a cut may hang over.

    Cut is between words, and between Chinese characters except where punctuation forbids it; a word
    that is longer than a line is cut anywhere.
    """
    if len(line) <= cells and line.isascii():
        return []
    places: list[int] = []
    start = best = used = size = 0
    before, is_blank = " ", True
    for place, character in enumerate(line):
        size_before = size
        size = 1 if character.isascii() else _cells_behind(before if place else "", character)
        could_part = before in " |" or size == 2 or size_before == 2  # spares most letters the call
        if could_part and not is_blank and _may_part(before, character):
            best = place
        if used + size > cells and character != " " and place > start:
            start = best if best > start else place
            places.append(start)
            used = width(line[start:place])
        used += size
        before, is_blank = character, is_blank and character == " "
    return places


def _may_part(before: str, after: str) -> bool:
    """Tell whether a line may end between two characters."""
    if before == " " or after == " ":
        return after != " "
    if after in _NOT_FIRST or before in _NOT_LAST:
        return False
    return before == "|" or width(before) == 2 or width(after) == 2


def longest_word(line: str) -> int:
    """Return the cells of the widest piece of `line` that is not cut while there is room for it."""
    longest = start = 0
    for place in range(1, len(line)):
        if _may_part(line[place - 1], line[place]):
            longest = max(longest, width(line[start:place].rstrip(" ")))
            start = place
    return max(longest, width(line[start:]))


def wrapped(line: str, cells: int) -> list[str]:
    """Return `line` in pieces of at most `cells` cells, without the blanks at their ends."""
    places = breaks(line, cells)
    return [line[a:b].rstrip(" ") for a, b in zip([0, *places], [*places, len(line)], strict=True)]


def wrapped_between(line: str, divider: str, cells: int) -> list[str]:
    """Return `line` in pieces of at most `cells` cells, parted at dividers, which are left out there.

    What is too long between two dividers is wrapped.
    """
    pieces: list[str] = []
    for part in line.split(divider):
        if pieces and width(pieces[-1] + divider + part) <= cells:
            pieces[-1] += divider + part
        else:
            pieces += wrapped(part, cells)
    return pieces
